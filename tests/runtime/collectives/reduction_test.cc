#include "runtime/collectives/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "runtime/collectives/reference_floats.h"

namespace xylem::collectives {
namespace {

using testing::decode;
using testing::encode;
using testing::Format;
using testing::formatOf;

struct KernelTables {
  const char* name;
  const ReductionTable* (*table)();  // null if the processor does not support it
};

class Reductions : public ::testing::TestWithParam<KernelTables> {
 protected:
  void SetUp() override {
    if (GetParam().table() == nullptr) GTEST_SKIP() << "this processor has no " << GetParam().name;
  }
  static const ReductionTable& table() { return *GetParam().table(); }
  Reduction preMulSum(DataType type, std::uint64_t bits) const {
    Reduction r = table()[static_cast<int>(type)][kPreMulSum];
    std::memcpy(r.factor.element.data(), &bits, elementBytes(type));
    return r;
  }
  Reduction reduction(DataType type, ReduceOp op, int ranks) const {
    Reduction r = table()[static_cast<int>(type)][static_cast<int>(op)];
    r.factor.scale = 1.0 / ranks;
    r.factor.divisor = ranks;
    return r;
  }
};

constexpr DataType kSmallFloats[] = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8e4m3,
                                     DataType::kFloat8e5m2};

template <typename Bits>
std::vector<Bits> allPatterns() {
  std::vector<Bits> all(std::size_t{1} << 8 * sizeof(Bits));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Bits>(i);
  return all;
}

// Every pattern of `type` combined with each of `others`, compared with arithmetic on 32-bit floats and a
// rounding written from the definition.
template <typename Bits>
void checkSmallFloat(const Reduction& r, DataType type, ReduceOp op, const std::vector<Bits>& others) {
  const Format f = formatOf(type);
  const std::vector<Bits> left = allPatterns<Bits>();
  std::vector<Bits> out(left.size());
  for (const Bits other : others) {
    const std::vector<Bits> right(left.size(), other);
    r.combine(out.data(), left.data(), right.data(), left.size(), r.factor);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto a = static_cast<float>(decode(f, left[i]));
      const auto b = static_cast<float>(decode(f, other));
      float expected = 0;
      switch (op) {
        case ReduceOp::kSum:
          expected = a + b;
          break;
        case ReduceOp::kProd:
          expected = a * b;
          break;
        case ReduceOp::kMax:
          expected = std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b;
          break;
        case ReduceOp::kMin:
          expected = std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b;
          break;
        case ReduceOp::kAvg:
          expected = a + b * static_cast<float>(r.factor.scale);
          break;
      }
      const double got = decode(f, out[i]);
      const double want = decode(f, encode(f, expected));
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << name(type) << " " << name(op) << " " << left[i] << " " << other;
      else
        ASSERT_EQ(got, want) << name(type) << " " << name(op) << " " << +left[i] << " " << +other;
    }
  }
}

TEST_P(Reductions, SmallFloatsRoundAsTheirDefinitionSays) {
  std::mt19937 random(1);
  for (const DataType type : kSmallFloats) {
    for (int op = 0; op < kReduceOps; ++op) {
      const Reduction r = reduction(type, static_cast<ReduceOp>(op), 3);
      if (elementBytes(type) == 1) {
        checkSmallFloat<std::uint8_t>(r, type, static_cast<ReduceOp>(op), allPatterns<std::uint8_t>());
      } else {
        // Zeros, ones, subnormals, the largest, infinity, NaN, and a few of the rest.
        std::vector<std::uint16_t> others{0,      0x8000, 0x3c00, 0x3f80, 1,
                                          0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
        for (int i = 0; i < 6; ++i) others.push_back(static_cast<std::uint16_t>(random()));
        checkSmallFloat<std::uint16_t>(r, type, static_cast<ReduceOp>(op), others);
      }
    }
  }
}

template <typename T>
T referenceInteger(ReduceOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case ReduceOp::kProd:
      return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(a)) * static_cast<U>(b));
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kMin:
      return std::min(a, b);
    default:
      return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(a)) + static_cast<U>(b));
  }
}

template <typename T>
void checkInteger(const Reduction& r, ReduceOp op) {
  std::mt19937_64 random(7);
  constexpr std::size_t n = 5003;  // more than a block of results that go to two places
  std::vector<T> a(n), b(n), out(n), copy(n);
  for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<T>(random()), b[i] = static_cast<T>(random());
  a[0] = std::numeric_limits<T>::max(), b[0] = 1;
  a[1] = std::numeric_limits<T>::min(), b[1] = static_cast<T>(-1);
  r.combine(out.data(), a.data(), b.data(), n, r.factor);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], referenceInteger(op, a[i], b[i])) << i;
  r.finish(out.data(), copy.data(), a.data(), b.data(), n, r.factor);
  for (std::size_t i = 0; i < n; ++i) {
    T expected = referenceInteger(op, a[i], b[i]);
    if (op == ReduceOp::kAvg) expected = static_cast<T>(expected / static_cast<T>(3));
    ASSERT_EQ(out[i], expected) << i;
    ASSERT_EQ(copy[i], expected) << i;
  }
  r.enter(out.data(), a.data(), n, r.factor);
  ASSERT_EQ(out, a);
  r.merge(out.data(), a.data(), b.data(), n, r.factor);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], referenceInteger(op, a[i], b[i])) << i;
  r.finish(copy.data(), nullptr, a.data(), b.data(), n, r.factor);
  r.finishMerge(out.data(), nullptr, a.data(), b.data(), n, r.factor);
  ASSERT_EQ(out, copy);
}

TEST_P(Reductions, IntegersWrapAndAveragesTruncate) {
  for (int o = 0; o < kReduceOps; ++o) {
    const auto op = static_cast<ReduceOp>(o);
    checkInteger<std::int8_t>(reduction(DataType::kInt8, op, 3), op);
    checkInteger<std::uint8_t>(reduction(DataType::kUint8, op, 3), op);
    checkInteger<std::int32_t>(reduction(DataType::kInt32, op, 3), op);
    checkInteger<std::uint32_t>(reduction(DataType::kUint32, op, 3), op);
    checkInteger<std::int64_t>(reduction(DataType::kInt64, op, 3), op);
    checkInteger<std::uint64_t>(reduction(DataType::kUint64, op, 3), op);
  }
}

TEST_P(Reductions, AnAverageOverMoreRanksThanTheTypeHolds) {
  const Reduction r = reduction(DataType::kInt8, ReduceOp::kAvg, 300);
  const std::int8_t a = -100, b = -20;
  std::int8_t out = 1, copy = 1;
  r.finish(&out, &copy, &a, &b, 1, r.factor);
  EXPECT_EQ(out, 0);
}

template <typename T>
void checkFloat(const Reduction& r, ReduceOp op) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<T> values(-1000, 1000);
  constexpr std::size_t n = 2501;
  std::vector<T> a(n), b(n), out(n), copy(n);
  for (std::size_t i = 0; i < n; ++i) a[i] = values(random), b[i] = values(random);
  b[3] = std::numeric_limits<T>::quiet_NaN();
  a[4] = std::numeric_limits<T>::infinity();
  r.finish(out.data(), copy.data(), a.data(), b.data(), n, r.factor);
  std::vector<T> single(n);
  r.finish(single.data(), nullptr, a.data(), b.data(), n, r.factor);
  ASSERT_EQ(std::memcmp(single.data(), out.data(), n * sizeof(T)), 0);
  const T scale = static_cast<T>(r.factor.scale);
  for (std::size_t i = 0; i < n; ++i) {
    T expected = 0;
    switch (op) {
      case ReduceOp::kSum:
        expected = a[i] + b[i];
        break;
      case ReduceOp::kProd:
        expected = a[i] * b[i];
        break;
      case ReduceOp::kMax:
        expected = std::fmax(a[i], b[i]);
        break;
      case ReduceOp::kMin:
        expected = std::fmin(a[i], b[i]);
        break;
      case ReduceOp::kAvg:
        expected = a[i] + b[i] * scale;
        break;
    }
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(out[i]));
    } else {
      ASSERT_EQ(out[i], expected);
      ASSERT_EQ(copy[i], expected);
    }
  }
}

TEST_P(Reductions, FloatsAreWhatTheProcessorSays) {
  for (int o = 0; o < kReduceOps; ++o) {
    checkFloat<float>(reduction(DataType::kFloat32, static_cast<ReduceOp>(o), 3), static_cast<ReduceOp>(o));
    checkFloat<double>(reduction(DataType::kFloat64, static_cast<ReduceOp>(o), 3), static_cast<ReduceOp>(o));
  }
}

template <typename T>
void checkPreMultiplied(const Reduction& r, T factor) {
  std::mt19937_64 random(13);
  constexpr std::size_t n = 517;
  std::vector<T> a(n), b(n), entered(n), out(n), copy(n);
  for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<T>(random()), b[i] = static_cast<T>(random());
  r.enter(entered.data(), b.data(), n, r.factor);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>)
      ASSERT_EQ(entered[i], referenceInteger(ReduceOp::kProd, b[i], factor)) << i;
    else
      ASSERT_EQ(entered[i], b[i] * factor) << i;
  }
  r.combine(out.data(), a.data(), b.data(), n, r.factor);
  r.merge(copy.data(), a.data(), entered.data(), n, r.factor);
  ASSERT_EQ(out, copy) << "scaled on its way in, or before";
  r.finish(out.data(), copy.data(), a.data(), b.data(), n, r.factor);
  ASSERT_EQ(out, copy);
  r.finishMerge(copy.data(), nullptr, a.data(), entered.data(), n, r.factor);
  ASSERT_EQ(out, copy);
}

TEST_P(Reductions, PreMultipliedSumsScaleOwnElementsByAnElementOfTheType) {
  checkPreMultiplied<std::int8_t>(preMulSum(DataType::kInt8, 0xfd), -3);
  checkPreMultiplied<std::uint8_t>(preMulSum(DataType::kUint8, 201), 201);
  checkPreMultiplied<std::int32_t>(preMulSum(DataType::kInt32, 0xffffff85), -123);
  checkPreMultiplied<std::uint32_t>(preMulSum(DataType::kUint32, 4000000007), 4000000007);
  checkPreMultiplied<std::int64_t>(preMulSum(DataType::kInt64, 1ull << 40), std::int64_t{1} << 40);
  checkPreMultiplied<std::uint64_t>(preMulSum(DataType::kUint64, ~0ull), ~0ull);
  checkPreMultiplied<float>(preMulSum(DataType::kFloat32, 0x3dcccccd), 0.1f);
  checkPreMultiplied<double>(preMulSum(DataType::kFloat64, 0x3fb999999999999a), 0.1);
}

// Every pattern times a factor, plus a half: one rounding, of the sum.
TEST_P(Reductions, PreMultipliedSumsOfSmallFloatsRoundOnce) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    const Format f = formatOf(type);
    const std::uint64_t factor = encode(f, 0.7);
    const Reduction r = preMulSum(type, factor);
    const std::vector<std::uint16_t> own = allPatterns<std::uint16_t>();
    const std::vector<std::uint16_t> half(own.size(), static_cast<std::uint16_t>(encode(f, 0.5)));
    std::vector<std::uint16_t> out(own.size());
    r.combine(out.data(), half.data(), own.data(), own.size(), r.factor);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const float sum = 0.5f + static_cast<float>(decode(f, own[i])) * static_cast<float>(decode(f, factor));
      if (std::isnan(sum))
        ASSERT_TRUE(std::isnan(decode(f, out[i])));
      else
        ASSERT_EQ(decode(f, out[i]), decode(f, encode(f, sum))) << name(type) << " " << i;
    }
  }
}

TEST(ChosenReductions, SayWhetherTheyScale) {
  const float factor = 2;
  EXPECT_FALSE(chooseReduction(DataType::kFloat32, ReduceOp::kSum, 3).scales);
  EXPECT_TRUE(chooseReduction(DataType::kFloat32, ReduceOp::kAvg, 3).scales);
  EXPECT_FALSE(chooseReduction(DataType::kFloat32, ReduceOp::kAvg, 1).scales) << "nothing to scale";
  EXPECT_FALSE(chooseReduction(DataType::kInt32, ReduceOp::kAvg, 3).scales) << "divided at the end";
  EXPECT_TRUE(choosePreMulSum(DataType::kFloat32, &factor).scales);
  EXPECT_FALSE(copyOf(DataType::kFloat16).scales);
}

// The same bits from odd addresses, with any length, and in place.
TEST_P(Reductions, NeitherAlignmentNorLengthMatters) {
  std::mt19937 random(5);
  for (int t = 0; t < kDataTypes; ++t) {
    for (int o = 0; o < kReduceOps; ++o) {
      const Reduction r = reduction(static_cast<DataType>(t), static_cast<ReduceOp>(o), 5);
      const std::size_t bytes = r.elementBytes;
      for (const std::size_t n : {1u, 2u, 7u, 33u, 130u}) {
        std::vector<std::byte> a(n * bytes + 64), b(n * bytes + 64), out(n * bytes + 64);
        // Small patterns: no NaNs, whose payloads may differ.
        for (auto& x : a) x = static_cast<std::byte>(random() & 0x3b);
        for (auto& x : b) x = static_cast<std::byte>(random() & 0x3b);
        std::vector<std::byte> expected(n * bytes);
        for (std::size_t i = 0; i < n; ++i) {
          alignas(8) std::byte x[8], y[8], z[8];
          std::memcpy(x, &a[1 + i * bytes], bytes);
          std::memcpy(y, &b[3 + i * bytes], bytes);
          r.combine(z, x, y, 1, r.factor);
          std::memcpy(&expected[i * bytes], z, bytes);
        }
        r.combine(&out[5], &a[1], &b[3], n, r.factor);
        ASSERT_EQ(std::memcmp(&out[5], expected.data(), n * bytes), 0) << t << " " << o << " " << n;
        r.combine(&b[3], &a[1], &b[3], n, r.factor);
        ASSERT_EQ(std::memcmp(&b[3], expected.data(), n * bytes), 0) << "in place";
      }
    }
  }
}

// In the order of the ranks, as 32-bit floats; at odd addresses, with any length, and in place.
template <typename Bits>
void checkSumOfAll(const Reduction& r, DataType type, std::size_t ranks, std::size_t n,
                   std::mt19937& random) {
  SCOPED_TRACE(::testing::Message() << name(type) << ", " << ranks << " ranks, " << n << " elements");
  const Format f = formatOf(type);
  std::uniform_real_distribution<float> values(-3, 3);
  std::vector<std::vector<std::byte>> sources(ranks, std::vector<std::byte>(n * sizeof(Bits) + 1));
  std::vector<const std::byte*> places;
  std::vector<float> sums(n, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    places.push_back(sources[rank].data() + 1);
    for (std::size_t i = 0; i < n; ++i) {
      const auto bits = static_cast<Bits>(encode(f, values(random)));
      std::memcpy(sources[rank].data() + 1 + i * sizeof(Bits), &bits, sizeof bits);
      const auto value = static_cast<float>(decode(f, bits));
      sums[i] += r.scales ? value * static_cast<float>(r.factor.scale) : value;
    }
  }
  const std::vector<Factor> factors(ranks, r.factor);
  std::vector<Bits> out(n), copy(n);
  r.sumAll(out.data(), copy.data(), places.data(), factors.data(), static_cast<int>(ranks), n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(decode(f, out[i]), decode(f, encode(f, sums[i]))) << i;
  ASSERT_EQ(out, copy);
  r.sumAll(sources.back().data() + 1, nullptr, places.data(), factors.data(), static_cast<int>(ranks), n);
  ASSERT_EQ(std::memcmp(sources.back().data() + 1, out.data(), n * sizeof(Bits)), 0);
}

TEST_P(Reductions, SumsOfAllRanksRoundOnce) {
  std::mt19937 random(3);
  for (const DataType type : kSmallFloats)
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg})
      for (const std::size_t ranks : {2, 3, 8, Reduction::kMaxSummed})
        for (const std::size_t n : {1, 31, 64, 65, 1000, 5003}) {
          const Reduction r = reduction(type, op, static_cast<int>(ranks));
          if (elementBytes(type) == 1)
            checkSumOfAll<std::uint8_t>(r, type, ranks, n, random);
          else
            checkSumOfAll<std::uint16_t>(r, type, ranks, n, random);
        }
}

TEST_P(Reductions, OnlySumsOfSmallFloatsAreMadeOfAllRanksAtOnce) {
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op < kReduceOps; ++op) {
      const bool small = std::find(std::begin(kSmallFloats), std::end(kSmallFloats),
                                   static_cast<DataType>(type)) != std::end(kSmallFloats);
      const bool sum = op == static_cast<int>(ReduceOp::kSum) || op == static_cast<int>(ReduceOp::kAvg);
      EXPECT_EQ(table()[type][op].sumAll != nullptr, small && sum) << type << " " << op;
    }
}

INSTANTIATE_TEST_SUITE_P(Processors, Reductions,
                         ::testing::Values(KernelTables{"portable", [] { return &portableReductions(); }},
                                           KernelTables{"avx2", &avx2Reductions},
                                           KernelTables{"avx512", &avx512Reductions},
                                           KernelTables{"avx512fp16", &avx512Fp16Reductions}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace xylem::collectives
