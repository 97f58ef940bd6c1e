#pragma once
// What has to hold for every input of a fuzzer, in all builds.

#include <cstdlib>

namespace xylem {

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace xylem
