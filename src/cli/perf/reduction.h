#pragma once
// What ranks put into a reduction in `xylem perf`, and what has to come out: computed here by plain
// arithmetic on doubles and 64-bit integers, without any of the library's code.
//
//   const PerfReduction data(DataType::kFloat16, PerfOperator::kSum, ranks);
//   data.fill(send, count, rank);
//   std::size_t wrong = data.countWrong(receive, count, from);
//
// Values repeat with a period that is prime, so that a piece of data in the wrong place shows. They are
// chosen so that sums and products are exact in every type, whatever the order; an average of floats may
// round, and is allowed the sum of all its rounding errors.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/perf/options.h"
#include "core/data_type.h"

namespace xylem::cli {

class PerfReduction {
 public:
  PerfReduction(DataType type, PerfOperator op, int ranks);

  // What rank `rank` multiplies its elements by under kMulSum: exact in every type.
  static int multiplier(int rank) { return rank % 2 == 0 ? 2 : 1; }

  void fill(void* buffer, std::size_t count, int rank) const;
  // How many of `count` elements are not those from element `from` on of the result.
  std::size_t countWrong(const void* buffer, std::size_t count, std::size_t from) const;

 private:
  // An element of a rank's data.
  double valueOf(std::size_t index, int rank) const;
  std::uint64_t bitsOf(std::size_t index, int rank) const;
  void expectFloat(std::size_t index);
  void expectInteger(std::size_t index);

  DataType type_;
  PerfOperator op_;
  int ranks_;
  std::size_t bytes_;
  int contributors_;  // ranks that give something other than zero to a sum
  // By index in the period: the expected bits, or for floats the expected value and how far off it may be.
  std::vector<std::uint64_t> bits_;
  std::vector<double> values_;
  std::vector<double> tolerances_;
};

}  // namespace xylem::cli
