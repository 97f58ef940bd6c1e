#pragma once
// The inputs of an operation and its expected results. Every rank can compute every other rank's input.
// Values are chosen so that results are exact in their type; only averages over a number of ranks that is not
// a power of two are compared with a tolerance.
//
//   const Values values({.type = ncclFloat16, .op = Combine::kSum, .seed = 5, .ranks = 8});
//   values.fill(rank, 0, count, input);
//   const Mismatch m = values.checkReduced(0, count, output);
//   if (m.count > 0) ...

#include <cstddef>
#include <cstdint>
#include <string>

#include "nccl.h"

namespace xylem::soak {

enum class Combine { kSum, kProd, kMax, kMin, kAvg, kScaledSum, kCopy };
constexpr int kCombines = 6;  // without kCopy

std::size_t bytesOf(ncclDataType_t type);

struct Mismatch {
  std::size_t count = 0;
  std::size_t first = 0;
  std::string text;  // of the first
};

struct ValueKind {
  ncclDataType_t type = ncclInt8;
  Combine op = Combine::kCopy;
  std::uint64_t seed = 0;
  int ranks = 1;
};

class Values {
 public:
  explicit Values(const ValueKind& kind) : kind_(kind) {}

  // Elements first to first + count - 1 of the rank's input.
  void fill(int rank, std::size_t first, std::size_t count, std::byte* to) const;
  // The rank's factor of a scaled sum, as an element.
  void scalar(int rank, std::byte* to) const;
  // Returns whether `got` is that input, or the combination of all ranks' inputs.
  Mismatch checkCopied(int rank, std::size_t first, std::size_t count, const std::byte* got) const;
  Mismatch checkReduced(std::size_t first, std::size_t count, const std::byte* got) const;

 private:
  ValueKind kind_;
};

}  // namespace xylem::soak
