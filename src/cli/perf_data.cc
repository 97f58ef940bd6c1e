#include "cli/perf_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/perf_numbers.h"

namespace xylem::cli {
namespace {

// Prime, so that no power of two is a multiple of it.
constexpr std::size_t kPeriod = 16381;
// Only so many ranks contribute something other than zero to a sum, so that it stays exact in eight bits.
constexpr int kContributors = 8;

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finalizer
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

std::uint64_t hashOf(std::size_t index, int rank) {
  return mix(index * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(rank) + 1);
}

// Sums: small integers (of halves, in the wider types) of which every partial sum is representable.
double summand(const FloatFormat& format, std::size_t index, int rank, int ranks) {
  const std::uint64_t hash = hashOf(index, rank);
  if (format.bits() == 8) {
    const int first = static_cast<int>(hashOf(index, -1) % static_cast<std::uint64_t>(ranks));
    const bool contributes = (rank - first + ranks) % ranks < kContributors;
    return contributes ? static_cast<double>(hash % 3) - 1 : 0;
  }
  const int range = format.mantissaBits == 7 ? 1 : format.mantissaBits == 10 ? 8 : 4096;
  const auto whole =
      static_cast<double>(static_cast<std::int64_t>(hash % static_cast<unsigned>(2 * range + 1)) - range);
  return whole / 2;
}

// Products: signs, and powers of two that the pairs of ranks among the first few undo.
double factor(std::size_t index, int rank) {
  const double sign = (hashOf(index, rank) & 1) != 0 ? -1 : 1;
  if (rank >= kContributors) return sign;
  const bool scaled = (hashOf(index, 1000 + rank / 2) & 3) == 0;
  return !scaled ? sign : rank % 2 == 0 ? sign * 2 : sign / 2;
}

double valueOf(DataType type, ReduceOp op, std::size_t index, int rank, int ranks) {
  return op == ReduceOp::kProd ? factor(index, rank) : summand(formatOf(type), index, rank, ranks);
}

std::uint64_t loadBits(const std::byte* from, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);  // little-endian, as every machine this runs on
  return bits;
}

std::int64_t signExtended(std::uint64_t bits, std::size_t bytes) {
  const int unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

}  // namespace

PerfData::PerfData(DataType type, ReduceOp op, int ranks)
    : type_(type), op_(op), ranks_(ranks), bytes_(elementBytes(type)) {
  for (std::size_t i = 0; i < kPeriod; ++i) {
    if (isFloat(type))
      expectFloat(i);
    else
      expectInteger(i);
  }
}

std::uint64_t PerfData::pattern(std::size_t index, int rank) const {
  if (isFloat(type_)) return encodeExact(formatOf(type_), valueOf(type_, op_, index, rank, ranks_));
  return hashOf(index, rank);
}

void PerfData::expectFloat(std::size_t index) {
  const FloatFormat format = formatOf(type_);
  double result = 0;
  double magnitude = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const double value = valueOf(type_, op_, index, rank, ranks_);
    magnitude += std::fabs(value);
    if (rank == 0) {
      result = value;
      continue;
    }
    switch (op_) {
      case ReduceOp::kSum:
      case ReduceOp::kAvg:
        result += value;
        break;
      case ReduceOp::kProd:
        result *= value;
        break;
      case ReduceOp::kMax:
        result = std::max(result, value);
        break;
      case ReduceOp::kMin:
        result = std::min(result, value);
        break;
    }
  }
  double tolerance = 0;
  if (op_ == ReduceOp::kAvg) {
    result /= ranks_;
    // Each part rounds 1/ranks and the product with it, each addition rounds once.
    tolerance = (ranks_ + 2) * (format.unitRoundoff() * magnitude / ranks_ + format.smallestSubnormal());
    if ((ranks_ & (ranks_ - 1)) == 0 && format.bits() > 8) tolerance = 0;  // powers of two only shift
  }
  values_.push_back(result);
  tolerances_.push_back(tolerance);
}

void PerfData::expectInteger(std::size_t index) {
  const bool isSignedType = isSigned(type_);
  const std::uint64_t mask = bytes_ == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes_) - 1;
  std::uint64_t result = pattern(index, 0) & mask;
  for (int rank = 1; rank < ranks_; ++rank) {
    const std::uint64_t value = pattern(index, rank) & mask;
    const bool less =
        isSignedType ? signExtended(value, bytes_) < signExtended(result, bytes_) : value < result;
    switch (op_) {
      case ReduceOp::kSum:
      case ReduceOp::kAvg:
        result += value;
        break;
      case ReduceOp::kProd:
        result *= value;
        break;
      case ReduceOp::kMax:
        result = less ? result : value;
        break;
      case ReduceOp::kMin:
        result = less ? value : result;
        break;
    }
    result &= mask;
  }
  if (op_ == ReduceOp::kAvg) {
    const auto n = static_cast<std::uint64_t>(ranks_);
    result = isSignedType ? static_cast<std::uint64_t>(signExtended(result, bytes_) / ranks_) : result / n;
  }
  bits_.push_back(result & mask);
}

void PerfData::fill(void* buffer, std::size_t count, int rank) const {
  auto* out = static_cast<std::byte*>(buffer);
  for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) {
    const std::uint64_t bits = pattern(i, rank);
    std::memcpy(out + i * bytes_, &bits, bytes_);
  }
  for (std::size_t done = kPeriod; done < count; done += std::min(done, count - done))
    std::memcpy(out + done * bytes_, out, std::min(done, count - done) * bytes_);
}

std::size_t PerfData::countWrong(const void* buffer, std::size_t count) const {
  const auto* data = static_cast<const std::byte*>(buffer);
  std::size_t wrong = 0;
  if (!isFloat(type_)) {
    for (std::size_t i = 0; i < count; ++i)
      wrong += loadBits(data + i * bytes_, bytes_) != bits_[i % kPeriod];
    return wrong;
  }
  const FloatFormat format = formatOf(type_);
  std::vector<double> decoded;  // of all patterns, where there are few
  if (bytes_ <= 2)
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 8 * bytes_; ++bits)
      decoded.push_back(decode(format, bits));
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* at = data + i * bytes_;
    double value = 0;
    if (type_ == DataType::kFloat32) {
      float narrow = 0;
      std::memcpy(&narrow, at, sizeof narrow);
      value = narrow;
    } else if (type_ == DataType::kFloat64) {
      std::memcpy(&value, at, sizeof value);
    } else {
      value = decoded[loadBits(at, bytes_)];
    }
    // Written so that NaN is wrong, too.
    wrong += !(std::fabs(value - values_[i % kPeriod]) <= tolerances_[i % kPeriod]);
  }
  return wrong;
}

}  // namespace xylem::cli
