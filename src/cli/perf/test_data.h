#pragma once
// The data of `xylem perf` and the check of its results, computed without any of the library's code: patterns
// for operations that only move data, and summands and expected results for reductions.
//
//   fillPattern(send, count, elementBytes, rank);
//   std::size_t wrong = countWrongPattern(receive, count, elementBytes, source, from);
//
//   const PerfReduction data(DataType::kFloat16, PerfOperator::kSum, ranks);
//   data.fill(send, count, rank);
//   std::size_t wrong = data.countWrong(receive, count, from);
//
// All data repeat with a period that is prime. No usual offset is a multiple of it, so data in the wrong
// place show.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/perf/cases.h"
#include "core/data_type.h"

namespace xylem::cli {

// ---- Floating-point formats ---------------------------------------------------------------------

// A format by its definition: sign, exponent, mantissa. Slow, and independent of the library's own
// conversions, which it checks.
struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  bool infinities;  // the highest exponent means infinity and NaN; otherwise only all bits set means NaN
  int bits() const { return 1 + exponentBits + mantissaBits; }
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  double unitRoundoff() const;  // the largest relative error of rounding to nearest
  double smallestSubnormal() const;
};

bool isFloat(DataType type);
bool isSigned(DataType type);
FloatFormat formatOf(DataType type);

// The value of a bit pattern.
double decode(const FloatFormat& format, std::uint64_t bits);
// The bits of a value that the format represents exactly.
std::uint64_t encodeExact(const FloatFormat& format, double value);

// ---- Operations that only move data -------------------------------------------------------------

constexpr std::size_t kPatternPeriod = 16381;

// The bits at place `index` of a rank's data. They depend on rank and place, so that data of the wrong rank
// show, too.
std::uint64_t patternBits(std::size_t index, int rank);

void fillPattern(void* buffer, std::size_t count, std::size_t elementBytes, int rank);

// Returns how many of `count` elements differ from those of rank `source` from element `from` on.
std::size_t countWrongPattern(const void* buffer, std::size_t count, std::size_t elementBytes, int source,
                              std::size_t from);

// Repeats the first `period` elements up to `count`.
void repeat(void* buffer, std::size_t count, std::size_t elementBytes, std::size_t period);

// ---- Reductions ---------------------------------------------------------------------------------

// The ranks' data and the expected result, by plain arithmetic on doubles and 64-bit integers. The values are
// chosen so that sums and products are exact in every type, in whatever order they are computed. Only an
// average of floats may round; its tolerance is the sum of all rounding errors.
class PerfReduction {
 public:
  PerfReduction(DataType type, PerfOperator op, int ranks);

  // The factor of rank `rank` under kMulSum: exact in every type.
  static int multiplier(int rank) { return rank % 2 == 0 ? 2 : 1; }

  void fill(void* buffer, std::size_t count, int rank) const;
  // Returns how many of `count` elements differ from those of the result from element `from` on.
  std::size_t countWrong(const void* buffer, std::size_t count, std::size_t from) const;

 private:
  // An element of a rank's data.
  double valueOf(std::size_t index, int rank) const;
  std::uint64_t bitsOf(std::size_t index, int rank) const;
  // Append the result at `index`.
  void expectFloat(std::size_t index);
  void expectInteger(std::size_t index);

  DataType type_;
  PerfOperator op_;
  int ranks_;
  std::size_t bytes_;
  int contributors_;  // the number of ranks that add a number other than zero to a sum
  // By place in the period: the expected bits of integers; the expected value of floats, and its tolerance.
  std::vector<std::uint64_t> bits_;
  std::vector<double> values_;
  std::vector<double> tolerances_;
};

}  // namespace xylem::cli
