// Executors over real queues: every collective, algorithm, protocol, type and operation, on one to nine ranks
// that one thread advances in random order, against a plain loop.

#include "runtime/collectives/program_executor.h"

#include <gtest/gtest.h>

#include "runtime/collectives/local_job.h"
#include "runtime/collectives/wiring.h"
#include "support/sanitizers.h"

namespace xylem::collectives {
namespace {

using testing::Kind;
using testing::kKinds;
using testing::LocalCase;
using testing::LocalJob;
using testing::LocalQueue;

// Chooses the rest of a case at random.
LocalCase completed(LocalCase c, std::mt19937& random) {
  constexpr std::size_t kSteps[] = {8, 120, 128, 240, 600};
  c.stepBytes = kSteps[random() % std::size(kSteps)];
  c.overlaps = random() % 2 == 0;
  c.chunkSteps = 1 + random() % stepsPerChunk(c.collective, c.algorithm, c.overlaps);
  const std::size_t slice = c.stepBytes / elementBytes(c.type);
  const std::size_t longest = (gathersOrScatters(c.collective) ? 3 : 9) * slice;
  c.block = random() % 10 == 0 ? random() % 3 : 1 + random() % longest;
  c.root = static_cast<int>(random() % static_cast<unsigned>(c.ranks));
  c.inPlace = random() % 2 == 0;
  c.channels = 1 + static_cast<int>(random() % 2);
  c.shift = random() % 8;
  c.exchange = random() % 2 == 0;
  return c;
}

void check(const LocalCase& c, std::mt19937& random) {
  LocalJob job(c, random);
  ASSERT_EQ(job.runInTurns(random), "") << c.describe();
  ASSERT_EQ(job.mismatch(), "") << c.describe();
}

class Executors : public ::testing::TestWithParam<Kind> {};

TEST_P(Executors, EveryTypeOperationAndProtocolOnOneToNineRanks) {
  std::mt19937 random(42);
  const auto [collective, algorithm] = GetParam();
  for (int t = 0; t < kDataTypes; ++t)
    for (int op = 0; op <= (reduces(collective) ? kPreMulSum : 0); ++op)
      for (const Protocol protocol : kAllProtocols)
        // With sanitizers 1, 2, 3, 6 and 9 ranks.
        for (int ranks = 1; ranks <= 9; ranks += ranks < 3 || !testing::kSanitized ? 1 : 3) {
          const LocalCase c{.collective = collective,
                            .algorithm = algorithm,
                            .protocol = protocol,
                            .type = static_cast<DataType>(t),
                            .op = op,
                            .ranks = ranks};
          check(completed(c, random), random);
          if (HasFatalFailure()) return;
        }
}

TEST_P(Executors, EveryCountAroundTheBorders) {
  std::mt19937 random(43);
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::vector<std::size_t> counts{0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129};
    // A step of 128 bytes holds 32 floats: two steps per chunk, `ranks` chunks per round.
    const std::size_t round = 64 * static_cast<std::size_t>(ranks);
    for (const std::size_t around : {round, 2 * round, 3 * round})
      counts.insert(counts.end(), {around - 1, around, around + 1});
    for (const std::size_t count : counts)
      for (const bool inPlace : {false, true}) {
        check({.collective = GetParam().collective,
               .algorithm = GetParam().algorithm,
               .ranks = ranks,
               .root = ranks - 1,
               .block = count,
               .inPlace = inPlace,
               .stepBytes = 128,
               .chunkSteps = 2},
              random);
        if (HasFatalFailure()) return;
      }
  }
}

// Steps that are long enough for queues to pass them by reference.
LocalCase sharing(const Kind& kind, int ranks, std::mt19937& random) {
  LocalCase c;
  c.collective = kind.collective;
  c.algorithm = kind.algorithm;
  c.ranks = ranks;
  c.type = random() % 2 == 0 ? DataType::kInt32 : DataType::kFloat32;
  constexpr int kOps[] = {0, static_cast<int>(ReduceOp::kAvg), kPreMulSum};
  if (reduces(kind.collective)) c.op = kOps[random() % std::size(kOps)];
  c = completed(c, random);
  c.stepBytes = 2 * transport::SendEnd::kMinSharedBytes;
  c.block = 1 + random() % (gathersOrScatters(kind.collective) ? 20000 : 60000);
  c.byReference = true;
  return c;
}

TEST_P(Executors, DataSentByReferenceIsReadBeforeItChanges) {
  std::mt19937 random(44);
  for (const int ranks : {2, 3, 4, 7})
    for (int i = 0; i < 3; ++i) {
      check(sharing(GetParam(), ranks, random), random);
      if (HasFatalFailure()) return;
    }
}

TEST_P(Executors, RanksAsThreads) {
  std::mt19937 random(45);
  for (const Protocol protocol : kAllProtocols)
    for (const int ranks : {2, 3, 5}) {
      LocalCase c{.collective = GetParam().collective,
                  .algorithm = GetParam().algorithm,
                  .protocol = protocol,
                  .ranks = ranks};
      c = completed(c, random);
      if (protocol == Protocol::kSimple && ranks > 2) c = sharing(GetParam(), ranks, random);
      LocalJob job(c, random);
      ASSERT_EQ(job.runAsThreads(), "") << c.describe();
      ASSERT_EQ(job.mismatch(), "") << c.describe();
    }
}

TEST_P(Executors, ResultsDependOnNeitherAlignmentNorSchedule) {
  LocalCase c{.collective = GetParam().collective, .algorithm = GetParam().algorithm, .ranks = 5};
  c.block = 777;
  std::vector<std::byte> first;
  for (const std::size_t shift : {0u, 1u, 4u, 7u}) {
    c.shift = shift;
    std::mt19937 random(46);
    LocalJob job(c, random);
    random.seed(static_cast<unsigned>(shift));
    ASSERT_EQ(job.runInTurns(random), "");
    if (first.empty()) first = job.output(0);
    EXPECT_EQ(job.output(0), first) << shift;
  }
}

// LL words are cleared every 2^31 steps. All queues of a ring come to that at the same time, and no rank may wait for the others.
TEST_P(Executors, GoOnWhereFlagsBeginAnew) {
  std::mt19937 random(47);
  for (const Protocol protocol : kAllProtocols)
    for (const std::uint64_t before : {1u, 3u, 6u}) {
      check({.collective = GetParam().collective,
             .algorithm = GetParam().algorithm,
             .protocol = protocol,
             .ranks = 3,
             .block = 500,
             .stepBytes = 240,
             .firstStep = transport::kLlEpoch - before},
            random);
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Executors, ::testing::ValuesIn(kKinds), [](const auto& instance) {
  return std::string(name(instance.param.algorithm)) + name(instance.param.collective);
});

struct Pair {
  LocalQueue there{0, 1, 128, false};  // from rank 0 to rank 1
  LocalQueue back{1, 0, 128, false};
};

TEST(ExecutorsSay, WhomTheyWaitFor) {
  Pair queues;
  transport::SendEnd* to = &queues.there.sender();
  transport::RecvEnd* from = &queues.back.receiver();
  const int order[] = {0, 1};
  std::vector<std::byte> data(64);
  Shape shape;
  shape.ranks = 2;
  shape.order = order;
  shape.count = 16;
  shape.chunk = 16;
  shape.grain = 16;
  ProgramExecutor executor;
  executor.start({programsOf(Collective::kAllReduce, Algorithm::kRing)[0],
                  shape,
                  {data.data(), data.data()},
                  {&from, 1},
                  {&to, 1},
                  chooseReduction(DataType::kFloat32, ReduceOp::kSum, 2),
                  Protocol::kLl});
  EXPECT_EQ(executor.step(), device::Progress::kWouldBlock)
      << "its chunk is empty; the other one has to begin";
  EXPECT_EQ(executor.waitsFor(), 1);
}

// Operations of different programs and protocols follow each other on the same queues.
TEST(ExecutorsOneAfterTheOther, UseTheSameQueues) {
  std::mt19937 random(48);
  Pair queues;
  const int order[] = {0, 1};
  constexpr Collective kTwo[] = {Collective::kAllReduce, Collective::kBroadcast};
  for (int round = 0; round < 60; ++round) {
    const Collective collective = kTwo[random() % 2];
    const Protocol protocol = kAllProtocols[random() % 3];
    const std::size_t count = random() % 300;
    std::vector<std::int32_t> data[2];
    ProgramExecutor executors[2];
    transport::SendEnd* to[] = {&queues.there.sender(), &queues.back.sender()};
    transport::RecvEnd* from[] = {&queues.back.receiver(), &queues.there.receiver()};
    for (int r = 0; r < 2; ++r) {
      data[r].assign(count, r + 1);
      auto* bytes = reinterpret_cast<std::byte*>(data[r].data());
      Shape shape{.ranks = 2, .rank = r, .position = r, .order = order, .root = 1, .count = count};
      shape.chunk = 64;
      shape.grain = 16;
      shape.inPlace = true;
      executors[r].start({programsOf(collective, Algorithm::kRing)[0],
                          shape,
                          {bytes, bytes},
                          {&from[r], 1},
                          {&to[r], 1},
                          chooseReduction(DataType::kInt32, ReduceOp::kSum, 2),
                          protocol});
    }
    bool open[] = {true, true};
    for (int i = 0; i < 10000 && (open[0] || open[1]); ++i)
      for (int r = 0; r < 2; ++r) open[r] = open[r] && executors[r].step() != device::Progress::kDone;
    ASSERT_FALSE(open[0] || open[1]);
    const std::int32_t expected = collective == Collective::kAllReduce ? 3 : 2;
    for (const auto& of : data)
      for (const std::int32_t v : of) ASSERT_EQ(v, expected) << name(collective) << " " << name(protocol);
  }
}

}  // namespace
}  // namespace xylem::collectives
