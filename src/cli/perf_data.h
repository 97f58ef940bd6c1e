#pragma once
// What ranks put into an AllReduce in `xylem perf`, and what has to come out: computed here by plain
// arithmetic on doubles and 64-bit integers, without any of the library's code.
//
//   const PerfData data(DataType::kFloat16, ReduceOp::kSum, ranks);
//   data.fill(buffer, count, rank);
//   std::size_t wrong = data.countWrong(buffer, count);
//
// Values repeat with a period that is prime, so that a piece of data in the wrong place shows. They are
// chosen so that sums and products are exact in every type, whatever the order; an average of floats may
// round, and is allowed the sum of all its rounding errors.

#include <cstdint>
#include <vector>

#include "core/data_type.h"

namespace xylem::cli {

class PerfData {
 public:
  PerfData(DataType type, ReduceOp op, int ranks);

  void fill(void* buffer, std::size_t count, int rank) const;
  std::size_t countWrong(const void* buffer, std::size_t count) const;

 private:
  std::uint64_t pattern(std::size_t index, int rank) const;
  void expectFloat(std::size_t index);
  void expectInteger(std::size_t index);

  DataType type_;
  ReduceOp op_;
  int ranks_;
  std::size_t bytes_;
  // By index in the period: the expected bits, or for floats the expected value and how far off it may be.
  std::vector<std::uint64_t> bits_;
  std::vector<double> values_;
  std::vector<double> tolerances_;
};

}  // namespace xylem::cli
