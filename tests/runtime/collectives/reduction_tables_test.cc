// Every table of reductions gives the bits of the portable one, NaNs apart: any type, operation, length and
// address, with and without a copy, in place, and past the caches.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/collectives/reduction.h"
#include "runtime/collectives/reference_floats.h"

namespace xylem::collectives {
namespace {

using testing::decode;
using testing::Format;
using testing::formatOf;

using Memory = std::vector<std::byte>;
constexpr std::byte kBeside{0xa5};

bool isFloat(DataType type) { return type >= DataType::kFloat16; }

std::uint64_t element(const std::byte* at, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

bool isNan(DataType type, std::uint64_t bits) {
  if (!isFloat(type)) return false;
  const Format f = type == DataType::kFloat64 ? Format{11, 52, true, false} : formatOf(type);
  return std::isnan(decode(f, bits));
}

// Any bits, and often those that are special: zeros, subnormals, the largest, infinities and NaNs of both
// signs.
Memory patterns(DataType type, std::size_t n, std::mt19937_64& random) {
  const std::size_t bytes = elementBytes(type);
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  const Format f = type == DataType::kFloat64 ? Format{11, 52, true, false} : formatOf(type);
  const std::uint64_t one = isFloat(type) ? static_cast<std::uint64_t>(f.bias()) << f.mantissaBits : 1;
  const std::uint64_t special[] = {0,
                                   1,
                                   f.ones(f.mantissaBits),
                                   one,
                                   one + 1,
                                   isFloat(type) ? f.largest() : sign - 1,
                                   isFloat(type) ? f.infinity() : sign - 2,
                                   sign - 1};
  Memory made(n * bytes);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t draw = random();
    const std::uint64_t bits = draw % 4 != 0 ? random() : special[draw / 4 % 8] | (draw >> 63 ? sign : 0);
    std::memcpy(&made[i * bytes], &bits, bytes);
  }
  return made;
}

enum class Call { kEnter, kCombine, kMerge, kFinish, kFinishMerge };
constexpr Call kCalls[] = {Call::kEnter, Call::kCombine, Call::kMerge, Call::kFinish, Call::kFinishMerge};

void call(Call which, const Reduction& r, std::byte* out, std::byte* copy, const std::byte* incoming,
          const std::byte* own, std::size_t n) {
  switch (which) {
    case Call::kEnter:
      return r.enter(out, own, n, r.factor);
    case Call::kCombine:
      return r.combine(out, incoming, own, n, r.factor);
    case Call::kMerge:
      return r.merge(out, incoming, own, n, r.factor);
    case Call::kFinish:
      return r.finish(out, copy, incoming, own, n, r.factor);
    case Call::kFinishMerge:
      return r.finishMerge(out, copy, incoming, own, n, r.factor);
  }
}

struct Table {
  const char* name;
  const ReductionTable* (*table)();  // null if the processor does not support it
};

class Tables : public ::testing::TestWithParam<Table> {
 protected:
  void SetUp() override {
    if (GetParam().table() == nullptr) GTEST_SKIP() << "this processor has no " << GetParam().name;
  }

  static Reduction with(const ReductionTable& table, DataType type, int op, int ranks) {
    Reduction r = table[static_cast<int>(type)][op];
    r.factor.scale = 1.0 / ranks;
    r.factor.divisor = ranks;
    std::memcpy(r.factor.element.data(), &kFactors[static_cast<int>(type)], elementBytes(type));
    return r;
  }
  Reduction ours(DataType type, int op, int ranks) const {
    return with(*GetParam().table(), type, op, ranks);
  }
  static Reduction portable(DataType type, int op, int ranks) {
    return with(portableReductions(), type, op, ranks);
  }

  // About 0.7 for floats.
  static constexpr std::uint64_t kFactors[kDataTypes] = {
      0xfd,       201,    0xffffff85, 4000000007,         0xfffffffffffffed4,
      1ull << 40, 0x399a, 0x3f333333, 0x3fe6666666666666, 0x3f33,
      0x33,       0x39};
};

void expectSame(DataType type, const Memory& got, std::size_t at, const std::byte* wanted, std::size_t n,
                const std::string& what) {
  const std::size_t bytes = elementBytes(type);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t a = element(&got[at + i * bytes], bytes), b = element(wanted + i * bytes, bytes);
    if (a != b && !(isNan(type, a) && isNan(type, b)))
      FAIL() << what << ": element " << i << " is " << std::hex << a << ", not " << b;
  }
  for (std::size_t i = 0; i < at; ++i) ASSERT_EQ(got[i], kBeside) << what << ": written before";
  for (std::size_t i = at + n * bytes; i < got.size(); ++i) ASSERT_EQ(got[i], kBeside) << what << ": beyond";
}

Memory around(const Memory& data, std::size_t at, std::size_t bytes) {
  Memory made(at + bytes + 64, kBeside);
  std::copy_n(data.begin(), bytes, made.begin() + static_cast<std::ptrdiff_t>(at));
  return made;
}

// Input elements `n` of a and b, each somewhere in memory; outputs apart and in place of either input.
void check(DataType type, const Reduction& ours, const Reduction& reference, const Memory& a, const Memory& b,
           std::size_t n, std::size_t shift, const std::string& what) {
  const std::size_t bytes = n * elementBytes(type);
  const std::size_t atA = shift * 7 % 64, atB = shift * 3 % 64, atOut = shift % 64, atCopy = shift * 5 % 64;
  for (const Call which : kCalls) {
    const std::string name = what + " call " + std::to_string(static_cast<int>(which)) + " of " +
                             std::to_string(n) + " shifted " + std::to_string(shift);
    Memory wanted(bytes + 1);
    call(which, reference, wanted.data(), nullptr, a.data(), b.data(), n);
    Memory left = around(a, atA, bytes), right = around(b, atB, bytes);
    Memory out(atOut + bytes + 64, kBeside), copy(atCopy + bytes + 64, kBeside);
    call(which, ours, &out[atOut], &copy[atCopy], &left[atA], &right[atB], n);
    expectSame(type, out, atOut, wanted.data(), n, name);
    if (which >= Call::kFinish) expectSame(type, copy, atCopy, wanted.data(), n, name + " copy");
    if (which != Call::kEnter) {
      Memory place = left;
      call(which, ours, &place[atA], nullptr, &place[atA], &right[atB], n);
      expectSame(type, place, atA, wanted.data(), n, name + " in place of incoming");
    }
    call(which, ours, &right[atB], nullptr, &left[atA], &right[atB], n);
    expectSame(type, right, atB, wanted.data(), n, name + " in place of own");
    if (::testing::Test::HasFatalFailure()) return;
  }
}

std::string nameOf(DataType type, int op) {
  return std::string(name(type)) + " " +
         (op == kPreMulSum ? "premulsum" : std::string(name(static_cast<ReduceOp>(op))));
}

template <typename Body>
void forAll(const Body& body) {
  for (int t = 0; t < kDataTypes; ++t) {
    for (int op = 0; op <= kPreMulSum; ++op) {
      body(static_cast<DataType>(t), op);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(Tables, AgreeForEveryLengthAndPlace) {
  std::mt19937_64 random(3);
  forAll([&](DataType type, int op) {
    for (std::size_t n = 0; n <= 70; ++n) {
      const Memory a = patterns(type, n, random), b = patterns(type, n, random);
      check(type, ours(type, op, 5), portable(type, op, 5), a, b, n, n, nameOf(type, op));
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (std::size_t shift = 0; shift < 64; ++shift) {
      const std::size_t n = 65;
      const Memory a = patterns(type, n, random), b = patterns(type, n, random);
      check(type, ours(type, op, 8), portable(type, op, 8), a, b, n, shift, nameOf(type, op));
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST_P(Tables, AgreeOnManyPatterns) {
  std::mt19937_64 random(17);
  constexpr std::size_t n = 20011;
  forAll([&](DataType type, int op) {
    const Memory a = patterns(type, n, random), b = patterns(type, n, random);
    check(type, ours(type, op, 3), portable(type, op, 3), a, b, n, 11, nameOf(type, op));
  });
}

// All pairs of 8-bit floats; all 16-bit ones with some others.
TEST_P(Tables, AgreeOnEveryPatternOfSmallFloats) {
  std::mt19937_64 random(23);
  for (const DataType type :
       {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8e4m3, DataType::kFloat8e5m2}) {
    const std::size_t bytes = elementBytes(type);
    const std::size_t n = std::size_t{1} << (8 * bytes);
    Memory all(n * bytes), wanted(n * bytes);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(&all[i * bytes], &i, bytes);
    const std::size_t others = bytes == 1 ? n : 24;
    const Memory sample = bytes == 1 ? all : patterns(type, others, random);
    for (int op = 0; op <= kPreMulSum; ++op) {
      const Reduction mine = ours(type, op, 7), reference = portable(type, op, 7);
      for (std::size_t o = 0; o < others; ++o) {
        Memory own(n * bytes), out(n * bytes);
        for (std::size_t i = 0; i < n; ++i) std::memcpy(&own[i * bytes], &sample[o * bytes], bytes);
        // Scaled elements of every pattern, too.
        const Memory& incoming = o % 2 == 0 ? all : own;
        const Memory& mineOwn = o % 2 == 0 ? own : all;
        reference.combine(wanted.data(), incoming.data(), mineOwn.data(), n, reference.factor);
        mine.combine(out.data(), incoming.data(), mineOwn.data(), n, mine.factor);
        expectSame(type, out, 0, wanted.data(), n, nameOf(type, op));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Sums of many ranks, also of elements scaled by the largest factor: beyond the largest number, and ties that a small element decides.
TEST_P(Tables, AgreeOnSumsOfAllRanks) {
  std::mt19937_64 random(31);
  constexpr std::size_t n = 4099;
  for (const DataType type :
       {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8e4m3, DataType::kFloat8e5m2})
    for (const int ranks : {2, 3, 7, Reduction::kMaxSummed})
      for (const int op : {static_cast<int>(ReduceOp::kSum), static_cast<int>(ReduceOp::kAvg), kPreMulSum})
        for (const bool largest : {false, true}) {
          const Reduction mine = ours(type, op, ranks), reference = portable(type, op, ranks);
          ASSERT_EQ(mine.sumAll == nullptr, reference.sumAll == nullptr);
          if (reference.sumAll == nullptr) continue;
          Factor factor = mine.factor;
          const std::uint64_t bits = formatOf(type).largest();
          if (largest) std::memcpy(factor.element.data(), &bits, elementBytes(type));
          const std::vector<Factor> factors(static_cast<std::size_t>(ranks), factor);
          std::vector<Memory> elements;
          std::vector<const std::byte*> sources;
          for (int rank = 0; rank < ranks; ++rank) elements.push_back(patterns(type, n, random));
          for (const Memory& one : elements) sources.push_back(one.data());
          Memory wanted(n * elementBytes(type)), out(wanted.size());
          reference.sumAll(wanted.data(), nullptr, sources.data(), factors.data(), ranks, n);
          mine.sumAll(out.data(), nullptr, sources.data(), factors.data(), ranks, n);
          expectSame(type, out, 0, wanted.data(), n, nameOf(type, op) + " of " + std::to_string(ranks));
          if (HasFatalFailure()) return;
        }
}

// The divisors of averages of integers: all small numbers of ranks, powers of two and their neighbours.
TEST_P(Tables, DivideExactlyByAnyNumberOfRanks) {
  std::mt19937_64 random(29);
  std::vector<int> ranks;
  for (int d = 1; d <= 70; ++d) ranks.push_back(d);
  for (int shift = 7; shift < 31; ++shift)
    for (const int d : {(1 << shift) - 1, 1 << shift, (1 << shift) + 1}) ranks.push_back(d);
  for (int i = 0; i < 30; ++i) ranks.push_back(static_cast<int>(random() % 2000000) + 1);
  constexpr std::size_t n = 300;
  for (int t = 0; t < static_cast<int>(DataType::kFloat16); ++t) {
    const auto type = static_cast<DataType>(t);
    const std::size_t bytes = elementBytes(type);
    const bool isSigned = type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
    for (const int d : ranks) {
      Memory a = patterns(type, n, random), out(n * bytes);
      // Multiples of the divisor and their neighbours are where quotients go wrong.
      for (std::size_t i = 0; i < n; i += 2) {
        const std::uint64_t near = random() % 1000 * static_cast<std::uint64_t>(d) + random() % 3 - 1;
        std::memcpy(&a[i * bytes], &near, bytes);
      }
      const Memory zero(n * bytes);
      const Reduction r = ours(type, static_cast<int>(ReduceOp::kAvg), d);
      r.finish(out.data(), nullptr, a.data(), zero.data(), n, r.factor);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t value = element(&a[i * bytes], bytes);
        const int unused = 64 - 8 * static_cast<int>(bytes);
        const std::uint64_t wanted =
            isSigned ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused)
                     : value;
        const std::uint64_t quotient = isSigned
                                           ? static_cast<std::uint64_t>(static_cast<std::int64_t>(wanted) / d)
                                           : wanted / static_cast<std::uint64_t>(d);
        ASSERT_EQ(element(&out[i * bytes], bytes), quotient << unused >> unused)
            << name(type) << " " << value << " / " << d;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, Tables,
                         ::testing::Values(Table{"portable", [] { return &portableReductions(); }},
                                           Table{"avx2", &avx2Reductions}, Table{"avx512", &avx512Reductions},
                                           Table{"avx512fp16", &avx512Fp16Reductions}),
                         [](const auto& instance) { return instance.param.name; });

TEST(TheChosenTable, IsTheBestThatIsThere) {
  const ReductionTable* best = avx512Fp16Reductions();
  if (best == nullptr) best = avx512Reductions();
  if (best == nullptr) best = avx2Reductions();
  EXPECT_EQ(&chosenReductions(), best != nullptr ? best : &portableReductions());
}

}  // namespace
}  // namespace xylem::collectives
