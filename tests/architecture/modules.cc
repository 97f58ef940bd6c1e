#include "architecture/modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace xylem::architecture {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

// The arguments of the call `NAME(...)` that starts with `first`, or all calls' arguments one after the
// other.
std::vector<std::vector<std::string>> calls(const std::string& cmake, const std::string& name) {
  std::vector<std::vector<std::string>> found;
  const std::regex call("(?:^|\n)" + name + "\\(([^)]*)\\)");
  for (std::sregex_iterator i(cmake.begin(), cmake.end(), call), end; i != end; ++i)
    found.push_back(words((*i)[1]));
  return found;
}

// The command is no module of the table: it stands above all of them.
constexpr std::string_view kCommand = "cli";

std::string_view wingOf(std::string_view folder) { return folder.substr(0, folder.find('/')); }

bool mayUse(std::string_view wing, std::string_view other) {
  return other == wing || other == "core" || (other == "planner" && wing != "core");
}

// The last word of a folder, by which CMake knows the module.
std::string nameOf(const std::string& folder) { return folder.substr(folder.rfind('/') + 1); }

}  // namespace

std::string ModuleTable::moduleOf(const std::string& path) const {
  for (std::string folder = path.substr(0, path.rfind('/')); !folder.empty();) {
    if (uses.contains(folder)) return folder;
    const std::size_t slash = folder.rfind('/');
    folder.resize(slash == std::string::npos ? 0 : slash);
  }
  return {};
}

ModuleTable parseModules(std::string_view cmake) {
  const std::string text(cmake);
  ModuleTable table;
  std::map<std::string, std::string> folders;
  const auto modules = calls(text, "xylem_module");
  for (const auto& arguments : modules)
    if (!arguments.empty()) folders[nameOf(arguments[0])] = arguments[0];
  // A name that no module has stays as it is, and is reported.
  const auto folderOf = [&](const std::string& name) {
    return folders.contains(name) ? folders.at(name) : name;
  };
  for (const auto& arguments : modules) {
    if (arguments.empty()) continue;
    table.order.push_back(arguments[0]);
    auto& uses = table.uses[arguments[0]];
    bool inUses = false;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[i] == "USES" || arguments[i] == "LIBS")
        inUses = arguments[i] == "USES";
      else if (inUses)
        uses.insert(folderOf(arguments[i]));
    }
  }
  for (const auto& arguments : calls(text, "set")) {
    if (arguments.empty()) continue;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[0] == "PLAN_LIBRARY_MODULES") table.planLibrary.insert(folderOf(arguments[i]));
      if (arguments[0] == "RUNTIME_MODULES") table.runtimeLibrary.insert(folderOf(arguments[i]));
    }
  }
  return table;
}

std::vector<std::string> violations(const ModuleTable& table) {
  std::vector<std::string> found;
  const auto place = [&](const std::string& module) {
    return std::find(table.order.begin(), table.order.end(), module);
  };
  for (const auto& [module, uses] : table.uses) {
    for (const std::string& used : uses) {
      if (place(used) == table.order.end())
        found.push_back(fmt::format("src/CMakeLists.txt: {} uses {}, which is no module", module, used));
      else if (!mayUse(wingOf(module), wingOf(used)))
        found.push_back(fmt::format("src/CMakeLists.txt: {} may not use {}", module, used));
      else if (place(used) >= place(module))  // upwards only: there can be no cycle
        found.push_back(
            fmt::format("src/CMakeLists.txt: {} uses {}, which does not stand above it", module, used));
      if (table.planLibrary.contains(module) && !table.planLibrary.contains(used))
        found.push_back(
            fmt::format("src/CMakeLists.txt: {} of libxylem-plan uses {}, which is not in it", module, used));
    }
    if (wingOf(module) == "planner" && !table.planLibrary.contains(module))
      found.push_back(fmt::format("src/CMakeLists.txt: {} is not in PLAN_LIBRARY_MODULES", module));
    if (table.runtimeLibrary.contains(module) && wingOf(module) != "runtime")
      found.push_back(fmt::format("src/CMakeLists.txt: {} is in RUNTIME_MODULES", module));
  }
  return found;
}

std::vector<std::string> violations(const ModuleTable& table, const std::string& path,
                                    std::string_view text) {
  std::vector<std::string> found;
  const bool isCommand = wingOf(path) == kCommand;
  const std::string module = table.moduleOf(path);
  if (module.empty() && !isCommand) return {fmt::format("src/{}:1: this folder is no module", path)};
  static const std::regex include("\\s*#\\s*include\\s*\"([^\"]+)\".*");
  std::istringstream in{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (!std::regex_match(line, match, include)) continue;
    const std::string target = match[1];
    if (table.publicHeaders.contains(target)) continue;
    const std::string other = wingOf(target) == kCommand ? std::string(kCommand) : table.moduleOf(target);
    if (target.find('/') == std::string::npos || target.starts_with("../"))
      found.push_back(fmt::format("src/{}:{}: \"{}\" does not name its module", path, number, target));
    else if (!other.empty() && other != module && !isCommand && !table.uses.at(module).contains(other))
      found.push_back(
          fmt::format("src/{}:{}: {} may not include {} ({})", path, number, module, other, target));
  }
  return found;
}

}  // namespace xylem::architecture
