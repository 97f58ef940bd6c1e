#pragma once
// Elements of any data type as numbers, and the results that reductions must have, computed in the simplest
// way.
//
//   const ReferenceOp op(DataType::kFloat16, static_cast<int>(ReduceOp::kSum), ranks, random);
//   EXPECT_EQ(op.mismatch(result, elements), "");

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/data_type.h"
#include "runtime/collectives/reduction.h"

namespace xylem::testing {

// A random element for which the results of nine ranks do not overflow, but are rounded.
void randomElement(DataType type, bool forProduct, std::mt19937& random, std::byte* out);

class ReferenceOp {
 public:
  // `op`: a ReduceOp, or kPreMulSum, for which every rank has its factor.
  ReferenceOp(DataType type, int op, int ranks, std::mt19937& random);

  collectives::Reduction reduction(int rank) const;
  // Nothing if `got` is the result for the ranks' elements: exactly for integers; for floats within the sum
  // of the roundings of any order in which they can be combined.
  std::string mismatch(const std::byte* got, std::span<const std::byte* const> elements) const;
  std::string describe() const;

 private:
  std::string integerMismatch(std::int64_t got, std::span<const std::byte* const> elements) const;
  std::string floatMismatch(double got, std::span<const std::byte* const> elements) const;
  std::int64_t narrowed(std::uint64_t value) const;
  bool isSigned() const;

  DataType type_;
  int op_;
  int ranks_;
  std::vector<std::byte> factors_;  // of pre-multiplied sums
};

}  // namespace xylem::testing
