#pragma once
// Two cores of this host, on which two ranks may run, and how they lie to each other.
//
//   if (const std::optional<CorePair> pair = corePair(mine, theirs)) {
//     const OnCore here(pair->first);                // until its end
//     measure(pair->sharesCache ? "near" : "far");
//   }

#include <sched.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/host_device.h"

namespace xylem::device {

struct CorePair {
  int first = 0, second = 1;
  bool sharesCache = true;  // below both there is a cache that both use
};

// How cores lie to each other; on this machine as the kernel tells it.
struct Sharing {
  std::function<bool(int, int)> cache, core;  // whether both use one
  static Sharing here();
};

// A core of `mine` and another one of `theirs`, as far apart by number as can be: cores of one socket have
// numbers next to each other. Nothing if both sets are one and the same core.
std::optional<CorePair> corePair(const CoreSet& mine, const CoreSet& theirs);

// A pair of each kind that there is among `cores`, that of corePair() first. Two that share a cache are not the halves of one core if there
// are others.
std::vector<CorePair> corePairs(const CoreSet& cores, const Sharing& sharing = Sharing::here());

// Make, family, model and caches of the processor, as the kernel tells them.
std::string processorText();

// Keeps the calling thread on one core.
class OnCore {
 public:
  // Throws Error (ncclSystemError) if the thread may not run there.
  explicit OnCore(int core);
  ~OnCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace xylem::device
