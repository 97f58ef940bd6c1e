#include "runtime/plugins/library_names.h"

#include <strings.h>

#include <string>

namespace xylem {
namespace {

constexpr std::string_view kStatic = "STATIC_PLUGIN";

bool startsIgnoringCase(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && strncasecmp(text.data(), start.data(), start.size()) == 0;
}

bool namesAFile(std::string_view value) {
  return value.find('/') != std::string_view::npos || (value.starts_with("lib") && value.ends_with(".so"));
}

}  // namespace

std::vector<std::string> libraryNames(std::string_view prefix, std::string_view value) {
  if (value.empty()) return {std::string(prefix) + ".so"};
  if (value.size() == 4 && startsIgnoringCase(value, "none")) return {};
  if (startsIgnoringCase(kStatic, value)) return {""};
  std::vector<std::string> names{std::string(value)};
  if (!namesAFile(value)) names.push_back(std::string(prefix) + "-" + std::string(value) + ".so");
  return names;
}

std::vector<std::string> pluginEntries(std::string_view list) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) entries.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (entries.empty()) entries.emplace_back();
  return entries;
}

}  // namespace xylem
