#include "core/slurm_lists.h"

#include <charconv>

namespace xylem {
namespace {

// Removes a number from the front of `text` and returns it.
std::optional<int> takeNumber(std::string_view& text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

// Takes the first member of every bracket: `rack[1-2]node[03,07]x` starts with rack1node03x.
std::string firstSlurmHost(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (!take(list, "[")) {
      host += list.front();
      list.remove_prefix(1);
      continue;
    }
    const std::size_t end = list.find(']');
    if (end == std::string_view::npos) return "";
    const std::string_view members = list.substr(0, end);
    host += members.substr(0, members.find_first_of(",-"));
    list.remove_prefix(end + 1);
  }
  return host;
}

std::optional<int> slurmTasksOn(std::string_view list, int node) {
  while (const auto tasks = takeNumber(list)) {
    int nodes = 1;
    if (take(list, "(x")) {
      const auto repeated = takeNumber(list);
      if (!repeated || !take(list, ")")) return std::nullopt;
      nodes = *repeated;
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (!take(list, ",")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace xylem
