#pragma once
// How far apart two cores are at this moment: the one-way time of a cache line. On shared machines it changes
// by factors, for seconds at a time; measurements between which it changed do not compare.

#include <memory>

#include "comparison/core_pair.h"

namespace xylem::bench {

class LineProbe {
 public:
  explicit LineProbe(CorePair& pair);
  ~LineProbe();

  // Nanoseconds; takes a few hundred microseconds.
  double measure();

 private:
  struct Lines;
  CorePair& pair_;
  std::unique_ptr<Lines> lines_;
};

}  // namespace xylem::bench
