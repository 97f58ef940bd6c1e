#pragma once
// Elements of any data type as numbers, and what a reduction has to make of them, by the simplest means.
//
//   const ReferenceOp op{DataType::kFloat16, ReduceOp::kSum, ranks};
//   op.expect(result, {element of rank 0, element of rank 1, ...});

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/collectives/reduction.h"
#include "core/data_type.h"

namespace xylem::testing {

// One that is easy on the type: the results of nine ranks do not overflow, but are rounded.
void randomElement(DataType type, bool forProduct, std::mt19937& random, std::byte* out);

class ReferenceOp {
 public:
  // `op`: a ReduceOp, or kPreMulSum, for which every rank has its factor.
  ReferenceOp(DataType type, int op, int ranks, std::mt19937& random);

  Reduction reduction(int rank) const;
  // Nothing if `got` is what the ranks' elements make: exactly of integers, of floats within what the
  // roundings of any order of combining them can add up to.
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
