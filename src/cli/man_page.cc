#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/pages.h"

namespace xylem::cli {
namespace {

// Plain text for roff: hyphens that can be copied as such, and no line that roff takes for a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string synopsis(const CommandPage& page) {
  if (page.name.empty()) return bold("xylem") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]";
  std::string line = bold("xylem " + page.name) + " [" + italic("OPTIONS") + "]";
  for (const OptionPage& positional : page.positionals) {
    const std::string name = italic(positional.names.front()) + (positional.repeats ? "..." : "");
    line += positional.required ? " " + name : " [" + name + "]";
  }
  return line;
}

// `-p, --processes N`, and its description.
std::string entry(const OptionPage& option, bool isPositional) {
  std::string head;
  for (const std::string& name : option.names)
    head += (head.empty() ? "" : ", ") + (isPositional ? italic(name) : bold(name));
  if (!option.value.empty()) head += " " + italic(option.value);
  std::string text = escaped(option.description);
  const bool told = std::all_of(option.choices.begin(), option.choices.end(), [&](const std::string& choice) {
    return option.description.find(choice) != std::string::npos;
  });
  if (!told) text += escaped(fmt::format(" ({})", fmt::join(option.choices, ", ")));
  return ".TP\n" + head + "\n" + text + "\n";
}

std::string entries(const std::string& heading, const std::vector<OptionPage>& options, bool arePositional) {
  if (options.empty()) return "";
  std::string text = ".SH " + heading + "\n";
  for (const OptionPage& option : options) text += entry(option, arePositional);
  return text;
}

// A paragraph of the footer. "Examples:" above indented lines becomes a heading; indented lines keep their
// form.
std::string paragraph(const std::vector<std::string>& lines, bool& inNotes) {
  std::string text;
  std::size_t first = 0;
  if (lines.size() > 1 && lines[0].ends_with(':') && lines[1].starts_with(' ')) {
    text += ".SH " + escaped(upper(lines[0].substr(0, lines[0].size() - 1))) + "\n";
    inNotes = false;
    first = 1;
  } else {
    text += inNotes ? ".PP\n" : ".SH NOTES\n";
    inNotes = true;
  }
  bool isLiteral = false;
  for (std::size_t i = first; i < lines.size(); ++i) {
    if (lines[i].starts_with(' ') != isLiteral) text += isLiteral ? ".fi\n" : ".nf\n";
    isLiteral = lines[i].starts_with(' ');
    text += escaped(lines[i]) + "\n";
  }
  return text + (isLiteral ? ".fi\n" : "");
}

std::string footer(const std::string& text) {
  std::string out;
  std::vector<std::string> lines;
  bool inNotes = false;
  std::istringstream in(text + "\n\n");
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) {
      lines.push_back(line);
    } else if (!lines.empty()) {
      out += paragraph(lines, inNotes);
      lines.clear();
    }
  }
  return out;
}

std::string commandList(const std::vector<CommandPage>& pages) {
  std::string text = ".SH COMMANDS\n";
  for (const CommandPage& page : pages)
    if (!page.name.empty())
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(manPageName(page.name)), escaped(page.summary));
  return text;
}

std::string seeAlso(const std::vector<CommandPage>& pages, const std::string& name) {
  std::string text;
  for (const CommandPage& page : pages)
    if (page.name != name)
      text += fmt::format("{}\\fB{}\\fR(1)", text.empty() ? "" : ",\n", escaped(manPageName(page.name)));
  return ".SH SEE ALSO\n" + text + "\n";
}

}  // namespace

std::string manPageName(const std::string& command) { return command.empty() ? "xylem" : "xylem-" + command; }

std::string manPage(const std::vector<CommandPage>& pages, const std::string& name,
                    const std::string& version) {
  const CommandPage& page =
      *std::find_if(pages.begin(), pages.end(), [&](const CommandPage& p) { return p.name == name; });
  const std::string title = manPageName(name);
  // No date: the same sources give the same page.
  std::string text = fmt::format(".TH {} 1 \"\" \"xylem {}\" \"Xylem\"\n", escaped(upper(title)), version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(title), escaped(page.summary));
  text += ".SH SYNOPSIS\n" + synopsis(page) + "\n";
  if (name.empty()) text += commandList(pages);
  text += entries("ARGUMENTS", page.positionals, true);
  text += entries("OPTIONS", page.options, false);
  text += footer(page.footer);
  return text + seeAlso(pages, name);
}

}  // namespace xylem::cli
