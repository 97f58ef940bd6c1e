#include "architecture/rooms.h"

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

// The command is no room of the table: it stands above all of them.
constexpr std::string_view kCommand = "cli";

}  // namespace

RoomTable parseRooms(std::string_view cmake) {
  const std::string text(cmake);
  RoomTable table;
  for (const auto& arguments : calls(text, "xylem_room")) {
    if (arguments.empty()) continue;
    table.order.push_back(arguments[0]);
    auto& uses = table.uses[arguments[0]];
    bool inUses = false;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[i] == "USES" || arguments[i] == "LIBS")
        inUses = arguments[i] == "USES";
      else if (inUses)
        uses.insert(arguments[i]);
    }
  }
  for (const auto& arguments : calls(text, "set")) {
    if (arguments.empty()) continue;
    if (arguments[0] == "PLANNER_ROOMS") table.planner.insert(arguments.begin() + 1, arguments.end());
    if (arguments[0] == "RUNTIME_ROOMS") table.runtime.insert(arguments.begin() + 1, arguments.end());
    // Its first room is no part of the libraries, as those that only the command has.
    if (arguments[0] == "OFFER_ROOMS") table.apart.insert(arguments[1]);
    if (arguments[0] == "COMMAND_ROOMS") table.apart.insert(arguments.begin() + 1, arguments.end());
  }
  return table;
}

std::vector<std::string> violations(const RoomTable& table) {
  std::vector<std::string> found;
  const auto place = [&](const std::string& room) {
    return std::find(table.order.begin(), table.order.end(), room);
  };
  for (const auto& [room, uses] : table.uses) {
    for (const std::string& used : uses) {
      if (place(used) == table.order.end())
        found.push_back(fmt::format("src/CMakeLists.txt: {} uses {}, which is no room", room, used));
      else if (place(used) >= place(room))  // upwards only, which leaves no room for a cycle
        found.push_back(
            fmt::format("src/CMakeLists.txt: {} uses {}, which does not stand above it", room, used));
      if (table.planner.contains(room) && table.runtime.contains(used))
        found.push_back(
            fmt::format("src/CMakeLists.txt: the planner's {} uses the runtime's {}", room, used));
    }
    if (!table.apart.contains(room) && table.planner.contains(room) == table.runtime.contains(room))
      found.push_back(
          fmt::format("src/CMakeLists.txt: {} is not in one of PLANNER_ROOMS and RUNTIME_ROOMS", room));
  }
  return found;
}

std::vector<std::string> violations(const RoomTable& table, const std::string& path, std::string_view text) {
  std::vector<std::string> found;
  const std::string room = path.substr(0, path.find('/'));
  const auto uses = table.uses.find(room);
  if (uses == table.uses.end() && room != kCommand)
    return {fmt::format("src/{}:1: {} is no room", path, room)};
  static const std::regex include("\\s*#\\s*include\\s*\"([^\"]+)\".*");
  std::istringstream in{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (!std::regex_match(line, match, include)) continue;
    const std::string target = match[1];
    const std::size_t slash = target.find('/');
    const std::string other = target.substr(0, slash);
    const bool isRoom = slash != std::string::npos && (table.uses.contains(other) || other == kCommand);
    if (table.publicHeaders.contains(target)) continue;
    if (slash == std::string::npos || target.starts_with("../"))
      found.push_back(fmt::format("src/{}:{}: \"{}\" does not name its room", path, number, target));
    else if (isRoom && other != room && room != kCommand && !uses->second.contains(other))
      found.push_back(
          fmt::format("src/{}:{}: {} may not include {} ({})", path, number, room, other, target));
  }
  return found;
}

}  // namespace xylem::architecture
