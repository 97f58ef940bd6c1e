#include "cli/perf/reduction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cli/perf/numbers.h"
#include "cli/perf/pattern.h"

namespace xylem::cli {
namespace {

// Of these ranks, pairs scale products up and down again.
constexpr int kScalers = 8;

// The largest summand, in units that the type's sums are whole multiples of.
int rangeOf(const FloatFormat& format) {
  if (format.mantissaBits <= 7) return 1;
  return format.mantissaBits == 10 ? 8 : 4096;
}

// As many ranks as sums can have whose every partial sum, in any order, is representable.
int contributorsOf(const FloatFormat& format, PerfOperator op) {
  const int largest = rangeOf(format) * (op == PerfOperator::kMulSum ? 2 : 1);
  const std::int64_t whole = std::int64_t{1} << (format.mantissaBits + 1);
  return static_cast<int>(std::min<std::int64_t>(whole / largest, std::numeric_limits<int>::max()));
}

// Products: signs, and powers of two that the pairs of ranks among the first few undo.
double factor(std::size_t index, int rank) {
  const double sign = (patternBits(index, rank) & 1) != 0 ? -1 : 1;
  if (rank >= kScalers) return sign;
  const bool scaled = (patternBits(index, 1'000'000 + rank / 2) & 3) == 0;
  return !scaled ? sign : rank % 2 == 0 ? sign * 2 : sign / 2;
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

PerfReduction::PerfReduction(DataType type, PerfOperator op, int ranks)
    : type_(type),
      op_(op),
      ranks_(ranks),
      bytes_(elementBytes(type)),
      contributors_(contributorsOf(formatOf(type), op)) {
  for (std::size_t i = 0; i < kPatternPeriod; ++i) {
    if (isFloat(type))
      expectFloat(i);
    else
      expectInteger(i);
  }
}

double PerfReduction::valueOf(std::size_t index, int rank) const {
  if (op_ == PerfOperator::kProd) return factor(index, rank);
  const FloatFormat format = formatOf(type_);
  const int first = static_cast<int>(patternBits(index, -1) % static_cast<std::uint64_t>(ranks_));
  if ((rank - first + ranks_) % ranks_ >= contributors_) return 0;
  const int range = rangeOf(format);
  const auto whole = static_cast<double>(
      static_cast<std::int64_t>(patternBits(index, rank) % static_cast<unsigned>(2 * range + 1)) - range);
  return format.bits() == 8 ? whole : whole / 2;
}

std::uint64_t PerfReduction::bitsOf(std::size_t index, int rank) const {
  if (isFloat(type_)) return encodeExact(formatOf(type_), valueOf(index, rank));
  return patternBits(index, rank);
}

void PerfReduction::expectFloat(std::size_t index) {
  const FloatFormat format = formatOf(type_);
  double result = 0;
  double magnitude = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const double value = valueOf(index, rank) * (op_ == PerfOperator::kMulSum ? multiplier(rank) : 1);
    magnitude += std::fabs(value);
    if (rank == 0) {
      result = value;
      continue;
    }
    switch (op_) {
      case PerfOperator::kSum:
      case PerfOperator::kAvg:
      case PerfOperator::kMulSum:
        result += value;
        break;
      case PerfOperator::kProd:
        result *= value;
        break;
      case PerfOperator::kMax:
        result = std::max(result, value);
        break;
      case PerfOperator::kMin:
        result = std::min(result, value);
        break;
      case PerfOperator::kNone:
        break;
    }
  }
  double tolerance = 0;
  if (op_ == PerfOperator::kAvg) {
    result /= ranks_;
    // Each part rounds 1/ranks and the product with it, each addition rounds once.
    tolerance = (ranks_ + 2) * (format.unitRoundoff() * magnitude / ranks_ + format.smallestSubnormal());
    if ((ranks_ & (ranks_ - 1)) == 0 && format.bits() > 8) tolerance = 0;  // powers of two only shift
  }
  values_.push_back(result);
  tolerances_.push_back(tolerance);
}

void PerfReduction::expectInteger(std::size_t index) {
  const bool isSignedType = isSigned(type_);
  const std::uint64_t mask = bytes_ == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes_) - 1;
  const auto given = [&](int rank) {
    const auto times = static_cast<std::uint64_t>(op_ == PerfOperator::kMulSum ? multiplier(rank) : 1);
    return bitsOf(index, rank) * times & mask;
  };
  std::uint64_t result = given(0);
  for (int rank = 1; rank < ranks_; ++rank) {
    const std::uint64_t value = given(rank);
    const bool less =
        isSignedType ? signExtended(value, bytes_) < signExtended(result, bytes_) : value < result;
    switch (op_) {
      case PerfOperator::kSum:
      case PerfOperator::kAvg:
      case PerfOperator::kMulSum:
        result += value;
        break;
      case PerfOperator::kProd:
        result *= value;
        break;
      case PerfOperator::kMax:
        result = less ? result : value;
        break;
      case PerfOperator::kMin:
        result = less ? value : result;
        break;
      case PerfOperator::kNone:
        break;
    }
    result &= mask;
  }
  if (op_ == PerfOperator::kAvg) {
    const auto n = static_cast<std::uint64_t>(ranks_);
    result = isSignedType ? static_cast<std::uint64_t>(signExtended(result, bytes_) / ranks_) : result / n;
  }
  bits_.push_back(result & mask);
}

void PerfReduction::fill(void* buffer, std::size_t count, int rank) const {
  auto* out = static_cast<std::byte*>(buffer);
  for (std::size_t i = 0; i < std::min(count, kPatternPeriod); ++i) {
    const std::uint64_t bits = bitsOf(i, rank);
    std::memcpy(out + i * bytes_, &bits, bytes_);
  }
  repeat(buffer, count, bytes_, kPatternPeriod);
}

std::size_t PerfReduction::countWrong(const void* buffer, std::size_t count, std::size_t from) const {
  const auto* data = static_cast<const std::byte*>(buffer);
  std::size_t wrong = 0;
  if (!isFloat(type_)) {
    for (std::size_t i = 0; i < count; ++i)
      wrong += loadBits(data + i * bytes_, bytes_) != bits_[(from + i) % kPatternPeriod];
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
    const std::size_t place = (from + i) % kPatternPeriod;
    wrong += !(std::fabs(value - values_[place]) <= tolerances_[place]);
  }
  return wrong;
}

}  // namespace xylem::cli
