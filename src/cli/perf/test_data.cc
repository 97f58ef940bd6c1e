#include "cli/perf/test_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace xylem::cli {

double FloatFormat::unitRoundoff() const { return std::ldexp(1.0, -mantissaBits - 1); }
double FloatFormat::smallestSubnormal() const { return std::ldexp(1.0, 1 - bias() - mantissaBits); }

bool isFloat(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kFloat32 || type == DataType::kFloat64 ||
         type == DataType::kBfloat16 || type == DataType::kFloat8e4m3 || type == DataType::kFloat8e5m2;
}

bool isSigned(DataType type) {
  return type != DataType::kUint8 && type != DataType::kUint32 && type != DataType::kUint64;
}

FloatFormat formatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10, true};
    case DataType::kBfloat16:
      return {8, 7, true};
    case DataType::kFloat8e4m3:
      return {4, 3, false};
    case DataType::kFloat8e5m2:
      return {5, 2, true};
    case DataType::kFloat32:
      return {8, 23, true};
    default:
      return {11, 52, true};
  }
}

double decode(const FloatFormat& format, std::uint64_t bits) {
  const std::uint64_t mantissaMask = (std::uint64_t{1} << format.mantissaBits) - 1;
  const std::uint64_t exponentMask = (std::uint64_t{1} << format.exponentBits) - 1;
  const std::uint64_t mantissa = bits & mantissaMask;
  const std::uint64_t exponent = bits >> format.mantissaBits & exponentMask;
  const bool negative = (bits >> (format.bits() - 1) & 1) != 0;
  double value = 0;
  if (exponent == exponentMask && format.infinities)
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == exponentMask && mantissa == mantissaMask)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias() - format.mantissaBits);
  else
    value = std::ldexp(static_cast<double>(mantissa | (mantissaMask + 1)),
                       static_cast<int>(exponent) - format.bias() - format.mantissaBits);
  return negative ? -value : value;
}

std::uint64_t encodeExact(const FloatFormat& format, double value) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (format.bits() - 1) : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 to 1
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, format.mantissaBits + 1));
  const auto biased = static_cast<std::uint64_t>(exponent - 1 + format.bias());
  return sign | biased << format.mantissaBits | (mantissa & ((std::uint64_t{1} << format.mantissaBits) - 1));
}

namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finalizer
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

void fillFrom(std::byte* out, std::size_t count, std::size_t elementBytes, int rank, std::size_t from) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = patternBits((from + i) % kPatternPeriod, rank);
    std::memcpy(out + i * elementBytes, &bits, elementBytes);  // the low bytes: machines are little-endian
  }
}

}  // namespace

std::uint64_t patternBits(std::size_t index, int rank) {
  return mix(index * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(rank) + 1);
}

void repeat(void* buffer, std::size_t count, std::size_t elementBytes, std::size_t period) {
  auto* out = static_cast<std::byte*>(buffer);
  for (std::size_t done = period; done < count; done += std::min(done, count - done))
    std::memcpy(out + done * elementBytes, out, std::min(done, count - done) * elementBytes);
}

void fillPattern(void* buffer, std::size_t count, std::size_t elementBytes, int rank) {
  fillFrom(static_cast<std::byte*>(buffer), std::min(count, kPatternPeriod), elementBytes, rank, 0);
  repeat(buffer, count, elementBytes, kPatternPeriod);
}

std::size_t countWrongPattern(const void* buffer, std::size_t count, std::size_t elementBytes, int source,
                              std::size_t from) {
  const auto* data = static_cast<const std::byte*>(buffer);
  std::vector<std::byte> expected(std::min(count, kPatternPeriod) * elementBytes);
  fillFrom(expected.data(), std::min(count, kPatternPeriod), elementBytes, source, from);
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < count; at += kPatternPeriod) {
    const std::size_t here = std::min(kPatternPeriod, count - at);
    const std::byte* found = data + at * elementBytes;
    if (std::memcmp(found, expected.data(), here * elementBytes) == 0) continue;
    for (std::size_t i = 0; i < here; ++i)
      wrong += std::memcmp(found + i * elementBytes, &expected[i * elementBytes], elementBytes) != 0;
  }
  return wrong;
}

namespace {

// The first ranks, whose pairs scale products up and down again.
constexpr int kScalers = 8;

// The largest summand. The unit is 1 in formats of 8 bits and 1/2 in others; all summands are whole multiples
// of it.
int rangeOf(const FloatFormat& format) {
  if (format.mantissaBits <= 7) return 1;
  return format.mantissaBits == 10 ? 8 : 4096;
}

// The most summands whose partial sums are all representable, whatever their order: sums stay below
// 2^(mantissa bits + 1) units, up to where every whole multiple of the unit is exact.
int contributorsOf(const FloatFormat& format, PerfOperator op) {
  const int largest = rangeOf(format) * (op == PerfOperator::kMulSum ? 2 : 1);
  const std::int64_t whole = std::int64_t{1} << (format.mantissaBits + 1);
  return static_cast<int>(std::min<std::int64_t>(whole / largest, std::numeric_limits<int>::max()));
}

// An element for products: a sign, and for some elements a factor of 2 at an even rank that the next rank
// undoes. Only a few ranks scale, so that no partial product overflows.
double factor(std::size_t index, int rank) {
  const double sign = (patternBits(index, rank) & 1) != 0 ? -1 : 1;
  if (rank >= kScalers) return sign;
  const bool scaled = (patternBits(index, 1'000'000 + rank / 2) & 3) == 0;
  return !scaled ? sign : rank % 2 == 0 ? sign * 2 : sign / 2;
}

std::uint64_t loadBits(const std::byte* from, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);  // machines are little-endian
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
    // Each summand rounds 1/ranks and its product with it, and each addition rounds once.
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
  std::vector<double> decoded;  // by bit pattern, for types that have few
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
    // The negation makes NaN wrong, too.
    const std::size_t place = (from + i) % kPatternPeriod;
    wrong += !(std::fabs(value - values_[place]) <= tolerances_[place]);
  }
  return wrong;
}

}  // namespace xylem::cli
