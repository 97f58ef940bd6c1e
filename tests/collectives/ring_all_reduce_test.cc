// Ring AllReduce among ranks that one thread advances in turn, over queues in plain memory: every type and
// operation, 1 to 9 ranks, all sizes around the borders of slices, chunks and rounds.

#include "collectives/ring_all_reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "collectives/reference_floats.h"

namespace xylem {
namespace {

class MemoryRing {
 public:
  MemoryRing(int ranks, std::size_t slotBytes) : ranks_(ranks), queues_(static_cast<std::size_t>(ranks)) {
    for (auto& q : queues_) {
      q = std::make_unique<Queue>();
      q->slots.resize(kFifoSlots * slotBytes);
      const FifoMemory memory{&q->control, q->slots.data(), slotBytes};
      q->writer = FifoWriter(memory);
      q->reader = FifoReader(memory);
    }
  }
  // Queue i leads from rank i to the next.
  RingPlace place(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const auto n = static_cast<std::size_t>(ranks_);
    return {rank, ranks_, &queues_[(r + n - 1) % n]->reader, &queues_[r]->writer};
  }
  bool empty() {
    for (auto& q : queues_)
      if (q->reader.ready()) return false;
    return true;
  }

 private:
  struct Queue {
    FifoControl control{};
    std::vector<std::byte> slots;
    FifoWriter writer;
    FifoReader reader;
  };
  int ranks_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

// Advances the ranks in random order until all are done. False if nobody can go on.
bool runAll(std::vector<RingAllReduce>& ranks, std::mt19937& random) {
  std::vector<char> done(ranks.size());
  std::size_t open = ranks.size();
  int idle = 0;
  while (open > 0) {
    const std::size_t r = random() % ranks.size();
    if (done[r] != 0) continue;
    const Progress progress = ranks[r].step();
    if (progress == Progress::kDone) done[r] = 1, --open;
    idle = progress == Progress::kWouldBlock ? idle + 1 : 0;
    if (idle > 100000) return false;
  }
  return true;
}

double valueOf(DataType type, const std::byte* at) {
  switch (type) {
    case DataType::kFloat32: {
      float v = 0;
      std::memcpy(&v, at, sizeof v);
      return v;
    }
    case DataType::kFloat64: {
      double v = 0;
      std::memcpy(&v, at, sizeof v);
      return v;
    }
    default: {
      std::uint64_t bits = 0;
      std::memcpy(&bits, at, elementBytes(type));
      return testing::decode(testing::formatOf(type), bits);
    }
  }
}

bool isFloat(DataType type) {
  const int t = static_cast<int>(type);
  return t >= static_cast<int>(DataType::kFloat16);
}

std::int64_t integerOf(DataType type, const std::byte* at) {
  std::uint64_t bits = 0;
  const std::size_t bytes = elementBytes(type);
  std::memcpy(&bits, at, bytes);
  const bool isSigned = type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
  const int unused = static_cast<int>(64 - 8 * bytes);
  return isSigned ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
}

struct Case {
  DataType type;
  ReduceOp op;
  int ranks;
  std::size_t count;
  bool inPlace;
  std::size_t slotBytes;
  std::size_t offset;  // elements by which buffers are shifted against their alignment
};

std::string describe(const Case& c) {
  return std::string(name(c.type)) + " " + std::string(name(c.op)) + " ranks " + std::to_string(c.ranks) +
         " count " + std::to_string(c.count) + (c.inPlace ? " in place" : "") + " slot " +
         std::to_string(c.slotBytes);
}

using Buffers = std::vector<std::vector<std::byte>>;

void fillRandom(const Case& c, Buffers& send, std::mt19937& random) {
  for (auto& buffer : send) {
    for (std::size_t i = 0; i < c.count; ++i) {
      std::byte* at = &buffer[(c.offset + i) * elementBytes(c.type)];
      std::uint64_t bits = (std::uint64_t{random()} << 32) | random();
      if (isFloat(c.type)) {
        // Between 0.5 and 1.5 for products, else -2 to 2: no overflow, much rounding.
        const double unit = static_cast<double>(random() % 4096) / 4096;
        const double value = c.op == ReduceOp::kProd ? 0.5 + unit : unit * 4 - 2;
        if (c.type == DataType::kFloat64) {
          std::memcpy(&bits, &value, sizeof bits);
        } else if (c.type == DataType::kFloat32) {
          const auto narrow = static_cast<float>(value);
          std::memcpy(&bits, &narrow, sizeof narrow);
        } else {
          bits = testing::encode(testing::formatOf(c.type), value);
        }
      }
      std::memcpy(at, &bits, elementBytes(c.type));
    }
  }
}

void checkFloatElement(const Case& c, const Buffers& send, std::size_t i, double got) {
  const std::size_t at = (c.offset + i) * elementBytes(c.type);
  double result = valueOf(c.type, &send[0][at]);
  double magnitude = std::fabs(result);
  for (std::size_t r = 1; r < send.size(); ++r) {
    const double v = valueOf(c.type, &send[r][at]);
    magnitude = c.op == ReduceOp::kProd ? magnitude * std::fabs(v) : magnitude + std::fabs(v);
    if (c.op == ReduceOp::kSum || c.op == ReduceOp::kAvg) result += v;
    if (c.op == ReduceOp::kProd) result *= v;
    if (c.op == ReduceOp::kMax) result = std::max(result, v);
    if (c.op == ReduceOp::kMin) result = std::min(result, v);
  }
  if (c.op == ReduceOp::kAvg) result /= c.ranks, magnitude /= c.ranks;
  const testing::Format f = testing::formatOf(c.type);
  const int mantissa = c.type == DataType::kFloat64 ? 52 : f.mantissaBits;
  const double roundoff = std::ldexp(1.0, -mantissa - 1);
  // Each of the combinations (and for averages each scaling) rounds once; products compound it.
  const double steps = 2 * c.ranks + 1;
  double tolerance = magnitude * std::expm1(steps * roundoff);
  if (mantissa < 10) tolerance += steps * std::ldexp(1.0, 1 - f.bias() - mantissa);
  if (c.op == ReduceOp::kMax || c.op == ReduceOp::kMin) tolerance = 0;
  ASSERT_LE(std::fabs(got - result), tolerance)
      << describe(c) << " element " << i << ": " << got << " vs " << result;
}

void checkIntegerElement(const Case& c, const Buffers& send, std::size_t i, std::int64_t got) {
  const std::size_t at = (c.offset + i) * elementBytes(c.type);
  const bool isSigned = c.type == DataType::kInt8 || c.type == DataType::kInt32 || c.type == DataType::kInt64;
  std::int64_t result = integerOf(c.type, &send[0][at]);
  const auto narrowed = [&](std::uint64_t v) {
    std::byte bytes[8];
    std::memcpy(bytes, &v, sizeof v);
    return integerOf(c.type, bytes);
  };
  for (std::size_t r = 1; r < send.size(); ++r) {
    const std::int64_t v = integerOf(c.type, &send[r][at]);
    const bool less =
        isSigned ? v < result : static_cast<std::uint64_t>(v) < static_cast<std::uint64_t>(result);
    const auto a = static_cast<std::uint64_t>(result), b = static_cast<std::uint64_t>(v);
    if (c.op == ReduceOp::kSum || c.op == ReduceOp::kAvg) result = narrowed(a + b);
    if (c.op == ReduceOp::kProd) result = narrowed(a * b);
    if (c.op == ReduceOp::kMax) result = less ? result : v;
    if (c.op == ReduceOp::kMin) result = less ? v : result;
  }
  if (c.op == ReduceOp::kAvg && c.ranks > 1)
    result =
        isSigned
            ? result / c.ranks
            : static_cast<std::int64_t>(static_cast<std::uint64_t>(result) / static_cast<unsigned>(c.ranks));
  ASSERT_EQ(got, result) << describe(c) << " element " << i;
}

void check(const Case& c, std::mt19937& random) {
  SCOPED_TRACE(describe(c));
  MemoryRing ring(c.ranks, c.slotBytes);
  const std::size_t bytes = elementBytes(c.type);
  const auto n = static_cast<std::size_t>(c.ranks);
  Buffers send(n, std::vector<std::byte>((c.offset + c.count) * bytes + 16, std::byte{0x5a}));
  fillRandom(c, send, random);
  const Buffers original = send;
  Buffers receive(n, std::vector<std::byte>((c.offset + c.count) * bytes + 16, std::byte{0x5a}));
  const Reduction reduction = chooseReduction(c.type, c.op, c.ranks);
  std::vector<RingAllReduce> ranks(n);
  for (std::size_t r = 0; r < n; ++r) {
    std::byte* out = (c.inPlace ? send : receive)[r].data() + c.offset * bytes;
    ranks[r].start({send[r].data() + c.offset * bytes, out, c.count}, ring.place(static_cast<int>(r)),
                   reduction);
  }
  ASSERT_TRUE(runAll(ranks, random)) << "nobody can go on";
  EXPECT_TRUE(ring.empty()) << "every slot that was sent has to be received";
  const Buffers& results = c.inPlace ? send : receive;
  for (std::size_t r = 1; r < n; ++r) ASSERT_EQ(results[r], results[0]) << "ranks must agree to the bit";
  if (!c.inPlace) {
    ASSERT_EQ(send, original) << "the input is not to be touched";
  }
  for (std::size_t i = results[0].size() - 16; i < results[0].size(); ++i)
    ASSERT_EQ(results[0][i], std::byte{0x5a}) << "written beyond the end";
  for (std::size_t i = 0; i < c.count; ++i) {
    const std::byte* at = &results[0][(c.offset + i) * bytes];
    if (isFloat(c.type))
      checkFloatElement(c, original, i, valueOf(c.type, at));
    else
      checkIntegerElement(c, original, i, integerOf(c.type, at));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RingAllReduce, EveryTypeAndOperationOnOneToNineRanks) {
  std::mt19937 random(42);
  for (int t = 0; t < kDataTypes; ++t)
    for (int o = 0; o < kReduceOps; ++o)
      for (int ranks = 1; ranks <= 9; ++ranks) {
        Case c{static_cast<DataType>(t), static_cast<ReduceOp>(o), ranks,       1 + random() % 700,
               random() % 2 == 0,        128u << random() % 4,     random() % 4};
        check(c, random);
        if (HasFatalFailure()) return;
      }
}

TEST(RingAllReduce, EveryCountAroundTheBorders) {
  std::mt19937 random(43);
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::vector<std::size_t> counts{0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129};
    // A slot of 128 bytes holds 32 floats: two slices per chunk, `ranks` chunks per round.
    const std::size_t round = 64 * static_cast<std::size_t>(ranks);
    for (const std::size_t around : {round, 2 * round, 3 * round})
      counts.insert(counts.end(), {around - 1, around, around + 1});
    for (const std::size_t count : counts)
      for (const bool inPlace : {false, true}) {
        check({DataType::kFloat32, ReduceOp::kSum, ranks, count, inPlace, 128, 0}, random);
        if (HasFatalFailure()) return;
      }
  }
}

TEST(RingAllReduce, SeveralOneAfterTheOtherOnTheSameQueues) {
  std::mt19937 random(44);
  MemoryRing ring(3, 256);
  for (int round = 0; round < 50; ++round) {
    const std::size_t count = random() % 300;
    std::vector<std::vector<std::int32_t>> data(3, std::vector<std::int32_t>(count + 1));
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) data[r][i] = static_cast<std::int32_t>(i * (r + 1));
    std::vector<RingAllReduce> ranks(3);
    for (std::size_t r = 0; r < 3; ++r) {
      auto* bytes = reinterpret_cast<std::byte*>(data[r].data());
      ranks[r].start({bytes, bytes, count}, ring.place(static_cast<int>(r)),
                     chooseReduction(DataType::kInt32, ReduceOp::kSum, 3));
    }
    ASSERT_TRUE(runAll(ranks, random));
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[r][i], static_cast<std::int32_t>(i * 6));
  }
}

TEST(RingAllReduce, SaysWhichEndItWaitsFor) {
  MemoryRing ring(2, 128);
  std::vector<std::byte> data(64);
  RingAllReduce one;
  one.start({data.data(), data.data(), 16}, ring.place(0),
            chooseReduction(DataType::kFloat32, ReduceOp::kSum, 2));
  EXPECT_EQ(one.step(), Progress::kWouldBlock) << "its chunk is empty; the other one has to begin";
  EXPECT_EQ(one.blockedOn(), BlockedOn::kPrevious);
}

TEST(ChannelShares, CoverEverythingOnceAndStartOnCacheLines) {
  for (const std::size_t count : {0u, 1u, 15u, 16u, 17u, 1000u, 1001u, 65537u})
    for (const std::size_t bytes : {1u, 2u, 4u, 8u})
      for (const int channels : {1, 2, 3, 7}) {
        std::size_t next = 0;
        for (int c = 0; c < channels; ++c) {
          const ChannelShare share = channelShare(count, bytes, c, channels);
          EXPECT_EQ(share.first, next);
          EXPECT_TRUE(share.count == 0 || share.first * bytes % 64 == 0);
          next = share.first + share.count;
        }
        EXPECT_EQ(next, count);
      }
  EXPECT_EQ(channelsFor(8, 4), 1);
  EXPECT_EQ(channelsFor(1 << 20, 4), 4);
}

}  // namespace
}  // namespace xylem
