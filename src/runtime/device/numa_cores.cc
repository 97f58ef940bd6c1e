#include "runtime/device/numa_cores.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace xylem::device {
namespace {

CoreSet listIn(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string list;
  std::getline(in, list);
  return coresOfList(list);
}

}  // namespace

CoreSet coresOfList(std::string_view list) {
  CoreSet cores;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    std::size_t first = 0;
    const char* const end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc()) continue;
    std::size_t last = first;
    if (at != end) std::from_chars(at + 1, end, last);
    for (std::size_t core = first; core <= last && core < cores.size(); ++core) cores.set(core);
  }
  return cores;
}

std::vector<CoreSet> numaNodes(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/devices/system/node";
  const CoreSet online = listIn(folder / "online");
  std::vector<CoreSet> nodes;
  for (std::size_t node = 0; node < online.size(); ++node) {
    if (!online[node]) continue;
    const CoreSet cores = listIn(folder / ("node" + std::to_string(node)) / "cpulist");
    if (cores.any()) nodes.push_back(cores);
  }
  return nodes;
}

CoreSet coresNear(const CoreSet& allowed, std::span<const CoreSet> nodes, const CoreSet& caller,
                  int threads) {
  const auto home = std::find_if(nodes.begin(), nodes.end(), [&](const CoreSet& node) {
    return caller.any() && (node & caller) == caller;
  });
  if (home == nodes.end()) return allowed;
  const CoreSet near = *home & allowed;
  return near.count() >= static_cast<std::size_t>(std::max(1, threads)) ? near : allowed;
}

}  // namespace xylem::device
