#include "architecture/names.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace xylem::architecture {
namespace {

// The length of the string or character literal that `text` starts with.
std::size_t literalLength(std::string_view text) {
  std::size_t i = 1;
  while (i < text.size() && text[i] != text[0]) i += text[i] == '\\' ? 2 : 1;
  return i + 1;
}

// An apostrophe after this is part of a number, as in 1'000.
bool separatesDigits(const std::string& code) {
  return !code.empty() && std::isalnum(static_cast<unsigned char>(code.back())) != 0;
}

// The text without comments, literals and preprocessor lines. Raw literals are taken to have no delimiter of their own.
std::string codeOnly(std::string_view text) {
  std::string code;
  bool lineStarts = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    // How far something reaches that ends with `end`.
    const auto until = [&](std::string_view end, std::size_t from) {
      const std::size_t at = rest.find(end, from);
      return at == std::string_view::npos ? rest.size() : at + end.size();
    };
    std::size_t skipped = 0;
    if (rest.starts_with("//") || (lineStarts && rest.starts_with("#")))
      skipped = std::min(rest.find('\n'), rest.size());
    else if (rest.starts_with("/*"))
      skipped = until("*/", 2);
    else if (rest.starts_with("R\"("))
      skipped = until(")\"", 3);
    else if (rest[0] == '"' || (rest[0] == '\'' && !separatesDigits(code)))
      skipped = literalLength(rest);
    if (skipped > 0) {
      code += ' ';
      i += skipped;
      continue;
    }
    lineStarts = rest[0] == '\n' || (lineStarts && rest[0] == ' ');
    code += rest[0];
    ++i;
  }
  return code;
}

// Calls see(statement, namespaces) for each statement at namespace level, with the names of the namespaces around it;
// `statement` ends before its first brace or its semicolon.
template <typename See>
void walk(const std::string& code, See&& see) {
  static const std::regex kNamespace(R"(^\s*(?:inline\s+)?namespace\s*([\w:]*)\s*$)");
  std::vector<std::string> around;
  int inside = 0;  // braces that are not those of namespaces
  std::string statement;
  for (const char c : code) {
    if (c == '{') {
      std::smatch match;
      if (inside == 0 && std::regex_match(statement, match, kNamespace)) {
        around.push_back(match[1]);
        see(statement, around);
        statement.clear();
        continue;
      }
      if (inside++ == 0) see(statement + "{", around);
    } else if (c == '}') {
      if (inside > 0) {
        if (--inside == 0) statement.clear();
      } else if (!around.empty()) {
        around.pop_back();
        statement.clear();
      }
    } else if (c == ';' && inside == 0) {
      see(statement + ";", around);
      statement.clear();
    } else if (inside == 0) {
      statement += c;
    }
  }
}

std::string joined(const std::vector<std::string>& namespaces) {
  std::string all;
  for (const std::string& name : namespaces) all += name + "::";
  return all;
}

}  // namespace

std::vector<std::string> definedNames(std::string_view header) {
  static const std::regex kType(
      R"(^\s*(?:template\s*<.*>\s*)?(?:struct|class|union|enum|enum\s+class)\s+(?:XYLEM_EXPORT\s+|alignas\([^)]*\)\s*)?(\w+)(?:\s+final)?\s*(?::[^:].*)?\{$)");
  static const std::regex kAlias(R"(^\s*(?:template\s*<.*>\s*)?using\s+(\w+)\s*=[^]*;$)");
  static const std::regex kConstant(
      R"(^\s*(?:inline\s+)?constexpr\s+[^(=]*?(k[A-Z]\w*)\s*(?:=[^]*[;{]|\{)$)");
  std::vector<std::string> names;
  walk(codeOnly(header), [&](const std::string& statement, const std::vector<std::string>& around) {
    std::smatch match;
    const std::string line = std::regex_replace(statement, std::regex(R"(\s+)"), " ");
    if (std::regex_match(line, match, kType) || std::regex_match(line, match, kAlias) ||
        std::regex_match(line, match, kConstant))
      names.push_back(joined(around) + match[1].str());
  });
  return names;
}

std::vector<std::string> openedNamespaces(std::string_view file) {
  std::vector<std::string> opened;
  walk(codeOnly(file), [&](const std::string& statement, const std::vector<std::string>& around) {
    if (around.size() == 1 && statement.find("namespace") != std::string::npos && !around[0].empty() &&
        statement.find_first_of(";{") == std::string::npos)
      opened.push_back(around[0]);
  });
  return opened;
}

}  // namespace xylem::architecture
