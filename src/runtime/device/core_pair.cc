#include "runtime/device/core_pair.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "runtime/device/numa_cores.h"

namespace xylem::device {
namespace {

int lowestOf(const CoreSet& cores) {
  for (std::size_t core = 0; core < cores.size(); ++core)
    if (cores[core]) return static_cast<int>(core);
  return -1;
}

int highestOf(const CoreSet& cores) {
  for (std::size_t core = cores.size(); core-- > 0;)
    if (cores[core]) return static_cast<int>(core);
  return -1;
}

// A list of the kernel for a core; empty if there is none.
std::string listOf(int core, const std::string& name) {
  std::ifstream in(fmt::format("/sys/devices/system/cpu/cpu{}/{}", core, name));
  std::string list;
  std::getline(in, list);
  return list;
}
bool names(const std::string& list, int core) {
  return coresOfList(list).test(static_cast<std::size_t>(core));
}

bool shareCache(int a, int b) {
  // The kernel lists the caches of a core from the first level up; those of the first level are its own.
  for (int index = 0; index < 8; ++index) {
    const std::string list = listOf(a, fmt::format("cache/index{}/shared_cpu_list", index));
    if (list.empty()) break;
    if (names(list, b)) return true;
  }
  return false;
}

}  // namespace

std::optional<CorePair> corePair(const CoreSet& mine, const CoreSet& theirs) {
  CorePair pair;
  pair.first = lowestOf(mine);
  pair.second = highestOf(theirs);
  if (pair.first == pair.second) pair.first = highestOf(mine);
  if (pair.first == pair.second) pair.second = lowestOf(theirs);
  if (pair.first < 0 || pair.second < 0 || pair.first == pair.second) return std::nullopt;
  pair.sharesCache = shareCache(pair.first, pair.second);
  return pair;
}

Sharing Sharing::here() {
  return {shareCache, [](int a, int b) { return names(listOf(a, "topology/thread_siblings_list"), b); }};
}

std::vector<CorePair> corePairs(const CoreSet& cores, const Sharing& sharing) {
  std::vector<CorePair> pairs;
  const std::optional<CorePair> apart = corePair(cores, cores);
  if (!apart) return pairs;
  pairs.push_back({apart->first, apart->second, sharing.cache(apart->first, apart->second)});
  std::optional<CorePair> other;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const CorePair pair{apart->first, static_cast<int>(i), !pairs.front().sharesCache};
    if (!cores[i] || pair.second == pair.first || sharing.cache(pair.first, pair.second) != pair.sharesCache)
      continue;
    const bool isOneCore = sharing.core(pair.first, pair.second);
    if (!other || !isOneCore) other = pair;
    if (!isOneCore) break;
  }
  if (other) pairs.push_back(*other);
  return pairs;
}

std::string processorText() {
  constexpr std::array<std::string_view, 5> kTold = {"model name", "cpu family", "model", "stepping",
                                                     "cache size"};
  std::ifstream in("/proc/cpuinfo");
  std::string text;
  // The lines of the first processor end with an empty one; the others are alike.
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::size_t end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (std::find(kTold.begin(), kTold.end(), line.substr(0, end + 1)) == kTold.end()) continue;
    const std::size_t value = line.find_first_not_of(" \t", std::min(colon + 1, line.size()));
    if (value != std::string::npos) text += (text.empty() ? "" : ", ") + line.substr(value);
  }
  return text;
}

OnCore::OnCore(int core) {
  CPU_ZERO(&before_);
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core), &only);
  if (sched_getaffinity(0, sizeof before_, &before_) != 0 || sched_setaffinity(0, sizeof only, &only) != 0)
    throw Error(ResultCode::kSystemError, "cannot run on core {}: {}", core, errnoText(errno));
}

}  // namespace xylem::device
