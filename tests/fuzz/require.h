#pragma once
// An assertion that holds for every input of a fuzzer. It is checked in all builds.

#include <cstdlib>

namespace xylem {

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace xylem
