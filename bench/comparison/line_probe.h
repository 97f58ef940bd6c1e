#pragma once
// Measures the distance of two cores at this moment: the one-way time of a cache line. On shared machines it
// changes by factors, for seconds at a time. Measurements that were taken in different states cannot be
// compared.

#include <memory>

#include "comparison/core_pair.h"

namespace xylem::bench {

class LineProbe {
 public:
  explicit LineProbe(CorePair& pair);
  ~LineProbe();

  // Returns nanoseconds; takes a few hundred microseconds.
  double measure();

 private:
  struct Lines;
  CorePair& pair_;
  std::unique_ptr<Lines> lines_;
};

}  // namespace xylem::bench
