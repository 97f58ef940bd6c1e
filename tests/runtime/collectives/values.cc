#include "runtime/collectives/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/collectives/reference_floats.h"

namespace xylem::testing {
namespace {

constexpr int kSum = static_cast<int>(ReduceOp::kSum);
constexpr int kProd = static_cast<int>(ReduceOp::kProd);
constexpr int kMax = static_cast<int>(ReduceOp::kMax);
constexpr int kMin = static_cast<int>(ReduceOp::kMin);
constexpr int kAvg = static_cast<int>(ReduceOp::kAvg);

bool isFloat(DataType type) { return static_cast<int>(type) >= static_cast<int>(DataType::kFloat16); }

double valueOf(DataType type, const std::byte* at) {
  if (type == DataType::kFloat64) {
    double v = 0;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, elementBytes(type));
  if (type == DataType::kFloat32) return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
  return decode(formatOf(type), bits);
}

std::uint64_t bitsOf(DataType type, double value) {
  if (type == DataType::kFloat64) return __builtin_bit_cast(std::uint64_t, value);
  if (type == DataType::kFloat32) return __builtin_bit_cast(std::uint32_t, static_cast<float>(value));
  return encode(formatOf(type), value);
}

}  // namespace

void randomElement(DataType type, bool forProduct, std::mt19937& random, std::byte* out) {
  std::uint64_t bits = (std::uint64_t{random()} << 32) | random();
  if (isFloat(type)) {
    const double unit = static_cast<double>(random() % 4096) / 4096;
    bits = bitsOf(type, forProduct ? 0.5 + unit : unit * 4 - 2);
  }
  std::memcpy(out, &bits, elementBytes(type));
}

ReferenceOp::ReferenceOp(DataType type, int op, int ranks, std::mt19937& random)
    : type_(type), op_(op), ranks_(ranks), factors_(static_cast<std::size_t>(ranks) * elementBytes(type)) {
  for (std::size_t at = 0; at < factors_.size(); at += elementBytes(type))
    randomElement(type, true, random, &factors_[at]);
}

collectives::Reduction ReferenceOp::reduction(int rank) const {
  if (op_ != collectives::kPreMulSum)
    return collectives::chooseReduction(type_, static_cast<ReduceOp>(op_), ranks_);
  return collectives::choosePreMulSum(type_, &factors_[static_cast<std::size_t>(rank) * elementBytes(type_)]);
}

std::string ReferenceOp::describe() const {
  const std::string op =
      op_ == collectives::kPreMulSum ? "premulsum" : std::string(name(static_cast<ReduceOp>(op_)));
  return std::string(name(type_)) + " " + op;
}

bool ReferenceOp::isSigned() const {
  return type_ == DataType::kInt8 || type_ == DataType::kInt32 || type_ == DataType::kInt64;
}

// The value after it was stored in the type.
std::int64_t ReferenceOp::narrowed(std::uint64_t value) const {
  const int unused = static_cast<int>(64 - 8 * elementBytes(type_));
  value <<= unused;
  return isSigned() ? static_cast<std::int64_t>(value) >> unused : static_cast<std::int64_t>(value >> unused);
}

std::string ReferenceOp::mismatch(const std::byte* got, std::span<const std::byte* const> elements) const {
  if (isFloat(type_)) return floatMismatch(valueOf(type_, got), elements);
  std::uint64_t bits = 0;
  std::memcpy(&bits, got, elementBytes(type_));
  return integerMismatch(narrowed(bits), elements);
}

std::string ReferenceOp::integerMismatch(std::int64_t got, std::span<const std::byte* const> elements) const {
  std::int64_t result = 0;
  for (std::size_t r = 0; r < elements.size(); ++r) {
    std::uint64_t bits = 0, factor = 1;
    std::memcpy(&bits, elements[r], elementBytes(type_));
    if (op_ == collectives::kPreMulSum)
      std::memcpy(&factor, &factors_[r * elementBytes(type_)], elementBytes(type_));
    const std::int64_t v = narrowed(bits * factor);
    const auto a = static_cast<std::uint64_t>(result), b = static_cast<std::uint64_t>(v);
    const bool less = isSigned() ? v < result : b < a;
    if (r == 0)
      result = v;
    else if (op_ == kProd)
      result = narrowed(a * b);
    else if (op_ == kMax)
      result = less ? result : v;
    else if (op_ == kMin)
      result = less ? v : result;
    else
      result = narrowed(a + b);
  }
  if (op_ == kAvg)
    result =
        isSigned()
            ? result / ranks_
            : static_cast<std::int64_t>(static_cast<std::uint64_t>(result) / static_cast<unsigned>(ranks_));
  return got == result ? "" : std::to_string(got) + " instead of " + std::to_string(result);
}

std::string ReferenceOp::floatMismatch(double got, std::span<const std::byte* const> elements) const {
  double result = 0, magnitude = 0;
  for (std::size_t r = 0; r < elements.size(); ++r) {
    double v = valueOf(type_, elements[r]);
    if (op_ == collectives::kPreMulSum) v *= valueOf(type_, &factors_[r * elementBytes(type_)]);
    if (op_ == kAvg) v /= ranks_;
    magnitude = op_ == kProd && r > 0 ? magnitude * std::fabs(v) : magnitude + std::fabs(v);
    if (r == 0)
      result = v;
    else if (op_ == kProd)
      result *= v;
    else if (op_ == kMax)
      result = std::max(result, v);
    else if (op_ == kMin)
      result = std::min(result, v);
    else
      result += v;
  }
  const Format f = formatOf(type_);
  const int mantissa = type_ == DataType::kFloat64 ? 52 : f.mantissaBits;
  const double roundoff = std::ldexp(1.0, -mantissa - 1);
  // Each of the combinations (and where there is one, each scaling) rounds once; products compound it.
  const double steps = 2 * ranks_ + 1;
  double tolerance = magnitude * std::expm1(steps * roundoff);
  if (mantissa <= 10) tolerance += steps * std::ldexp(1.0, 1 - f.bias() - mantissa);
  if (op_ == kMax || op_ == kMin || (ranks_ == 1 && op_ <= kAvg)) tolerance = 0;
  if (std::fabs(got - result) <= tolerance) return "";
  return std::to_string(got) + " instead of " + std::to_string(result);
}

}  // namespace xylem::testing
