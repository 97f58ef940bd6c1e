#include "soak/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "soak/random.h"

namespace xylem::soak {
namespace {

// Element i of a rank's input, before it is fitted to a type. It must be cheap: it is computed for every
// element of every rank.
class Raw {
 public:
  Raw(std::uint64_t seed, int rank)
      : base_(mixed(seed + 0x632be59bd9b4e019ull * static_cast<unsigned>(rank + 1))) {}
  std::uint64_t operator()(std::size_t i) const {
    std::uint64_t x = base_ + i * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
    return x ^ (x >> 32);
  }

 private:
  std::uint64_t base_;
};

// Bits of the small floating-point types.
struct SmallFloat {
  int exponentBits, mantissaBits;
  bool infinities;
};

double decodeBits(const SmallFloat& f, unsigned bits) {
  const unsigned mantissa = bits & ((1u << f.mantissaBits) - 1);
  const int top = (1 << f.exponentBits) - 1, bias = top / 2;
  const int exponent = static_cast<int>(bits >> f.mantissaBits) & top;
  const double sign = (bits >> (f.exponentBits + f.mantissaBits) & 1) != 0 ? -1 : 1;
  if (exponent == top && (f.infinities || mantissa == (1u << f.mantissaBits) - 1))
    return mantissa == 0 && f.infinities ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - f.mantissaBits);
  return sign * std::ldexp(mantissa + (1u << f.mantissaBits), exponent - bias - f.mantissaBits);
}

// All bit patterns of a small type, and those of small whole numbers.
class Codebook {
 public:
  explicit Codebook(const SmallFloat& f)
      : values_(std::size_t{1} << (1 + f.exponentBits + f.mantissaBits)), patterns_(2 * kMost + 1) {
    for (unsigned bits = 0; bits < values_.size(); ++bits) {
      const double value = values_[bits] = decodeBits(f, bits);
      if (std::fabs(value) <= kMost && value == std::trunc(value) && (value != 0 || bits == 0))
        patterns_[static_cast<std::size_t>(value + kMost)] = static_cast<std::uint16_t>(bits);
    }
  }
  double value(std::uint64_t bits) const { return values_[bits & (values_.size() - 1)]; }
  std::uint16_t pattern(double whole) const { return patterns_[static_cast<std::size_t>(whole + kMost)]; }

 private:
  static constexpr int kMost = 1024;
  std::vector<double> values_;
  std::vector<std::uint16_t> patterns_;
};

// How a floating-point type is read and written, and how large inputs may be so that sums of 8 ranks, scaled
// by 2, are exact.
struct Float32 {
  using Bits = float;
  static constexpr double kLargest = 1 << 19, kRounding = 0x1p-24;
  static double decode(float v) { return v; }
  static float encode(double v) { return static_cast<float>(v); }
};
struct Float64 {
  using Bits = double;
  static constexpr double kLargest = 0x1p48, kRounding = 0x1p-53;
  static double decode(double v) { return v; }
  static double encode(double v) { return v; }
};
template <typename Pattern, int kExponentBits, int kMantissaBits, bool kInfinities>
struct Small {
  using Bits = Pattern;
  static constexpr double kRounding = 1.0 / (2 << kMantissaBits);
  // Whole numbers are exact up to 2^(mantissa bits + 1): 8 ranks times 2 times this.
  static constexpr double kLargest = std::max(1, (2 << kMantissaBits) / 16);
  static const Codebook& book() {
    static const Codebook book({kExponentBits, kMantissaBits, kInfinities});
    return book;
  }
  static double decode(Pattern bits) { return book().value(bits); }
  static Pattern encode(double v) { return static_cast<Pattern>(book().pattern(v)); }
};
using Float16 = Small<std::uint16_t, 5, 10, true>;
using Bfloat16 = Small<std::uint16_t, 8, 7, true>;
using Float8e4m3 = Small<std::uint8_t, 4, 3, false>;
using Float8e5m2 = Small<std::uint8_t, 5, 2, true>;

template <typename F>
double floatInput(Combine op, std::uint64_t raw) {
  if (op == Combine::kProd) return ((raw & 1) != 0 ? 2 : 1) * ((raw & 6) == 0 ? -1 : 1);
  const auto span = static_cast<std::uint64_t>(2 * F::kLargest + 1);
  return static_cast<double>(raw % span) - F::kLargest;
}

// For sums in the small types the same value everywhere, as not all whole numbers up to 16 are exact in them.
double floatScalar(const ValueKind& kind, int rank) {
  const bool tiny = kind.type == ncclFloat8e4m3 || kind.type == ncclFloat8e5m2;
  const double scalars[] = {1, 2, -1, -2};
  return scalars[Raw(~kind.seed, tiny ? 0 : rank)(0) % 4];
}

template <typename F>
void fillFloats(const ValueKind& kind, int rank, std::size_t first, std::size_t count, std::byte* to) {
  const Raw raw(kind.seed, rank);
  for (std::size_t i = 0; i < count; ++i) {
    const typename F::Bits bits = F::encode(floatInput<F>(kind.op, raw(first + i)));
    std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

double combine(Combine op, double a, double b) {
  switch (op) {
    case Combine::kProd:
      return a * b;
    case Combine::kMax:
      return std::max(a, b);
    case Combine::kMin:
      return std::min(a, b);
    default:
      return a + b;
  }
}

bool isPowerOfTwo(int n) { return (n & (n - 1)) == 0; }

constexpr std::size_t kBlock = 512;  // elements at a time, so that each rank's loop is a simple one

template <typename F>
Mismatch checkFloats(const ValueKind& kind, std::size_t first, std::size_t count, const std::byte* got) {
  Mismatch mismatch;
  double expected[kBlock], sizes[kBlock];
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t n = std::min(kBlock, count - start);
    for (int rank = 0; rank < kind.ranks; ++rank) {
      const Raw raw(kind.seed, rank);
      const double scalar = kind.op == Combine::kScaledSum ? floatScalar(kind, rank) : 1;
      for (std::size_t i = 0; i < n; ++i) {
        const double value = scalar * floatInput<F>(kind.op, raw(first + start + i));
        expected[i] = rank == 0 ? value : combine(kind.op, expected[i], value);
        sizes[i] = rank == 0 ? std::fabs(value) : sizes[i] + std::fabs(value);
      }
    }
    const double divisor = kind.op == Combine::kAvg ? kind.ranks : 1;
    const double slack = isPowerOfTwo(kind.ranks) || divisor == 1 ? 0 : 2 * F::kRounding;
    for (std::size_t i = 0; i < n; ++i) {
      typename F::Bits bits;
      std::memcpy(&bits, got + (start + i) * sizeof bits, sizeof bits);
      const double value = F::decode(bits), wanted = expected[i] / divisor;
      if (std::fabs(value - wanted) <= slack * sizes[i]) continue;
      if (mismatch.count++ == 0) {
        mismatch.first = start + i;
        mismatch.text = fmt::format("{} instead of {}", value, wanted);
      }
    }
  }
  return mismatch;
}

template <typename T>
T combine(Combine op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Combine::kProd:
      return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(a)) * static_cast<U>(b));
    case Combine::kMax:
      return std::max(a, b);
    case Combine::kMin:
      return std::min(a, b);
    default:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}

template <typename T>
Mismatch checkIntegers(const ValueKind& kind, std::size_t first, std::size_t count, const std::byte* got) {
  Mismatch mismatch;
  T expected[kBlock];
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t n = std::min(kBlock, count - start);
    for (int rank = 0; rank < kind.ranks; ++rank) {
      const Raw raw(kind.seed, rank);
      const T scalar = kind.op == Combine::kScaledSum ? static_cast<T>(Raw(~kind.seed, rank)(0)) : T{1};
      for (std::size_t i = 0; i < n; ++i) {
        const T value = combine<T>(Combine::kProd, scalar, static_cast<T>(raw(first + start + i)));
        expected[i] = rank == 0 ? value : combine<T>(kind.op, expected[i], value);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      T value;
      std::memcpy(&value, got + (start + i) * sizeof value, sizeof value);
      const T wanted =
          kind.op == Combine::kAvg ? static_cast<T>(expected[i] / static_cast<T>(kind.ranks)) : expected[i];
      if (value == wanted) continue;
      if (mismatch.count++ == 0) {
        mismatch.first = start + i;
        mismatch.text = fmt::format("{} instead of {}", +value, +wanted);
      }
    }
  }
  return mismatch;
}

template <typename T>
void fillBits(const ValueKind& kind, int rank, std::size_t first, std::size_t count, std::byte* to) {
  const Raw raw(kind.seed, rank);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<T>(raw(first + i));
    std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

void fillAnyBits(const ValueKind& kind, int rank, std::size_t first, std::size_t count, std::byte* to) {
  switch (bytesOf(kind.type)) {
    case 1:
      return fillBits<std::uint8_t>(kind, rank, first, count, to);
    case 2:
      return fillBits<std::uint16_t>(kind, rank, first, count, to);
    case 4:
      return fillBits<std::uint32_t>(kind, rank, first, count, to);
    default:
      return fillBits<std::uint64_t>(kind, rank, first, count, to);
  }
}

// Calls `work` with the traits of a floating-point type; false for integers.
template <typename Work>
bool withFloat(ncclDataType_t type, Work&& work) {
  switch (type) {
    case ncclFloat16:
      return work(Float16()), true;
    case ncclFloat32:
      return work(Float32()), true;
    case ncclFloat64:
      return work(Float64()), true;
    case ncclBfloat16:
      return work(Bfloat16()), true;
    case ncclFloat8e4m3:
      return work(Float8e4m3()), true;
    case ncclFloat8e5m2:
      return work(Float8e5m2()), true;
    default:
      return false;
  }
}

}  // namespace

std::size_t bytesOf(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 1;
  }
}

void Values::fill(int rank, std::size_t first, std::size_t count, std::byte* to) const {
  const auto fillAs = [&](auto traits) { fillFloats<decltype(traits)>(kind_, rank, first, count, to); };
  if (kind_.op == Combine::kCopy || !withFloat(kind_.type, fillAs))
    fillAnyBits(kind_, rank, first, count, to);
}

void Values::scalar(int rank, std::byte* to) const {
  const auto encodeAs = [&](auto traits) {
    const auto bits = decltype(traits)::encode(floatScalar(kind_, rank));
    std::memcpy(to, &bits, sizeof bits);
  };
  if (withFloat(kind_.type, encodeAs)) return;
  const std::uint64_t raw = Raw(~kind_.seed, rank)(0);
  std::memcpy(to, &raw, bytesOf(kind_.type));  // little-endian, as all that this runs on
}

Mismatch Values::checkCopied(int rank, std::size_t first, std::size_t count, const std::byte* got) const {
  Mismatch mismatch;
  const std::size_t bytes = bytesOf(kind_.type);
  std::byte wanted[kBlock * 8];
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t n = std::min(kBlock, count - start);
    fill(rank, first + start, n, wanted);
    if (std::memcmp(wanted, got + start * bytes, n * bytes) == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::memcmp(wanted + i * bytes, got + (start + i) * bytes, bytes) == 0) continue;
      if (mismatch.count++ > 0) continue;
      mismatch.first = start + i;
      mismatch.text =
          fmt::format("first byte {:#04x} instead of {:#04x}", std::to_integer<int>(got[(start + i) * bytes]),
                      std::to_integer<int>(wanted[i * bytes]));
    }
  }
  return mismatch;
}

Mismatch Values::checkReduced(std::size_t first, std::size_t count, const std::byte* got) const {
  Mismatch mismatch;
  if (withFloat(kind_.type,
                [&](auto traits) { mismatch = checkFloats<decltype(traits)>(kind_, first, count, got); }))
    return mismatch;
  switch (kind_.type) {
    case ncclInt8:
      return checkIntegers<std::int8_t>(kind_, first, count, got);
    case ncclInt32:
      return checkIntegers<std::int32_t>(kind_, first, count, got);
    case ncclUint32:
      return checkIntegers<std::uint32_t>(kind_, first, count, got);
    case ncclInt64:
      return checkIntegers<std::int64_t>(kind_, first, count, got);
    case ncclUint64:
      return checkIntegers<std::uint64_t>(kind_, first, count, got);
    default:
      return checkIntegers<std::uint8_t>(kind_, first, count, got);
  }
}

}  // namespace xylem::soak
