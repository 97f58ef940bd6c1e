// Every program computes the right result, whatever the numbers, moves as much data as it should, never
// deadlocks and never changes data that another rank still has to read: see runtime/collectives/simulation.h.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/collectives/simulation.h"
#include "runtime/collectives/wiring.h"

namespace xylem::collectives {
namespace {

using testing::Kind;
using testing::SimulatedJob;
using testing::Simulation;

constexpr int kMaxRanks = 17;
constexpr std::size_t kUnbounded = std::size_t{1} << 30;

class Programs : public ::testing::TestWithParam<Kind> {
 protected:
  // Lengths at random, but never more than stepsPerChunk() steps per chunk.
  SimulatedJob job(int ranks, std::mt19937& random) const {
    SimulatedJob job;
    job.collective = GetParam().collective;
    job.algorithm = GetParam().algorithm;
    job.ranks = ranks;
    job.inPlace = random() % 2 == 0;
    job.step = 1 + random() % 6;
    job.overlaps = random() % 2 == 0;
    const std::size_t longest = stepsPerChunk(job.collective, job.algorithm, job.overlaps) * job.step;
    job.grain = std::min<std::size_t>(longest, std::size_t{1} << random() % 3);
    job.chunk = job.grain * (1 + random() % (longest / job.grain));
    if (random() % 2 == 0) job.chunk = longest / job.grain * job.grain;
    const std::size_t most = gathersOrScatters(job.collective) ? 50 : 120;
    job.block = random() % 8 == 0 ? random() % 3 : 1 + random() % most;
    job.channels = 1 + static_cast<int>(random() % 3);
    job.exchange = random() % 2 == 0;
    job.scales = random() % 2 == 0;
    return job;
  }
  // How often all data of a rank's block passes through a queue, all ranks together.
  static std::size_t transfers(const SimulatedJob& job) {
    const auto n = static_cast<std::size_t>(job.ranks);
    switch (job.collective) {
      case Collective::kAllReduce:
        return 2 * (n - 1);
      case Collective::kAllGather:
      case Collective::kReduceScatter:
        return n * (n - 1);
      case Collective::kBroadcast:
      case Collective::kReduce:
        return n - 1;
      default:
        return 0;
    }
  }
  static void check(const SimulatedJob& job, std::mt19937& random) {
    Simulation simulation(job, random);
    ASSERT_EQ(simulation.run(random), "") << job.describe();
    ASSERT_EQ(simulation.moved(), transfers(job) * job.block) << job.describe();
  }
};

TEST_P(Programs, ComputeTheRightThingOnQueuesOfEightSteps) {
  std::mt19937 random(1);
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (int i = 0; i < 25; ++i) {
      check(job(ranks, random), random);
      if (HasFatalFailure()) return;
    }
}

TEST_P(Programs, ComputeTheRightThingHoweverFarSomeRunAhead) {
  std::mt19937 random(2);
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (int i = 0; i < 10; ++i) {
      SimulatedJob j = job(ranks, random);
      j.queueSteps = kUnbounded;
      check(j, random);
      if (HasFatalFailure()) return;
    }
}

TEST_P(Programs, ServeEveryRoot) {
  std::mt19937 random(3);
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks)
    for (int root = 0; root < ranks; ++root) {
      SimulatedJob j = job(ranks, random);
      j.root = root;
      check(j, random);
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Programs, ::testing::ValuesIn(testing::kKinds), [](const auto& instance) {
  return std::string(name(instance.param.algorithm)) + name(instance.param.collective);
});

// The simulation notices a deadlock: the same jobs on queues that are shorter than promised.
TEST(ProgramPromises, RingsNeedQueuesThatHoldMoreThanAChunk) {
  std::mt19937 random(4);
  SimulatedJob job;
  job.ranks = 4;
  job.block = 64;
  job.step = 1;
  job.chunk = 4;
  job.queueSteps = 3;
  EXPECT_EQ(Simulation(job, random).run(random), "nobody can go on");
}

TEST(ProgramPromises, AlgorithmsThatDoNotExistHaveNoPrograms) {
  EXPECT_TRUE(programsOf(Collective::kBroadcast, Algorithm::kTree).empty());
  EXPECT_TRUE(programsOf(Collective::kAllReduce, Algorithm::kPat).empty());
  EXPECT_TRUE(programsOf(Collective::kBroadcast, Algorithm::kNvls).empty());
}

TEST(ProgramPromises, ScratchDoesNotGrowWithTheRanks) {
  Shape shape;
  shape.chunk = 1 << 16;
  shape.grain = 16;
  for (const int ranks : {1, 2, 3, 4, 8, 16, 100, 1000, 10000}) {
    shape.ranks = ranks;
    EXPECT_LE(scratchOf(Collective::kReduceScatter, Algorithm::kPat, shape), 4 * shape.chunk) << ranks;
  }
}

// A small AllGather or ReduceScatter takes about log2(ranks) latencies. (With more than 16 ranks, a phase has
// more blocks than a queue has steps.)
TEST(ProgramPromises, PatTakesLogarithmicTime) {
  std::mt19937 random(5);
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter})
    for (int ranks = 2; ranks <= 16; ++ranks) {
      SimulatedJob job;
      job.collective = collective;
      job.algorithm = Algorithm::kPat;
      job.ranks = ranks;
      job.block = 3;
      job.chunk = 16;
      job.step = 4;
      Simulation simulation(job, random);
      ASSERT_EQ(simulation.run(random), "") << job.describe();
      int log = 0;
      while ((1 << log) < ranks) ++log;
      EXPECT_LE(simulation.hops(), log) << job.describe();
    }
}

// An exchange of two ranks takes one latency, a round of the ring two.
TEST(ProgramPromises, AnExchangeTakesOneMessage) {
  std::mt19937 random(6);
  SimulatedJob job;
  job.ranks = 2;
  job.block = job.chunk = job.step = 10;
  for (const bool exchange : {false, true})
    for (const bool inPlace : {false, true}) {
      job.exchange = exchange;
      job.inPlace = inPlace;
      Simulation simulation(job, random);
      ASSERT_EQ(simulation.run(random), "") << job.describe();
      EXPECT_EQ(simulation.hops(), exchange ? 1 : 2);
    }
}

TEST(ProgramPromises, LastChunksOfARingShrinkSoThatAllRanksHaveSome) {
  const int order[] = {0, 1, 2, 3};
  Shape shape;
  shape.ranks = 4;
  shape.order = order;
  shape.count = 4 * 1024 + 64;
  shape.chunk = 1024;
  shape.grain = 16;
  const Program& program = programsOf(Collective::kAllReduce, Algorithm::kRing)[0];
  ASSERT_EQ(program.length(shape), 14u);
  std::map<std::size_t, int> turns;
  for (std::uint64_t i = 0; i < 14; ++i) ++turns[program.at(shape, i).count];
  EXPECT_EQ(turns, (std::map<std::size_t, int>{{1024, 7}, {16, 7}}));
}

// A rank begins with data that it only sends, and ends with data that it only receives.
TEST(ProgramPromises, RoundsOfARingOverlap) {
  const int order[] = {0, 1};
  Shape shape;
  shape.ranks = 2;
  shape.order = order;
  shape.chunk = 10;
  shape.overlaps = true;
  const auto waits = [&](Collective collective, std::size_t count) {
    shape.count = count;
    const Program& program = programsOf(collective, Algorithm::kRing)[0];
    std::string all;
    for (std::uint64_t i = 0; i < program.length(shape); ++i) {
      const Instruction now = program.at(shape, i);
      all += now.from == 0 ? 'S' : now.to == 0 ? 'R' : 'B';
    }
    return all;
  };
  EXPECT_EQ(waits(Collective::kAllReduce, 20), "SBR");
  EXPECT_EQ(waits(Collective::kAllReduce, 40), "SSBBRR");
  EXPECT_EQ(waits(Collective::kAllReduce, 80), "SSBSBRSBRBRR");
  shape.overlaps = false;
  EXPECT_EQ(waits(Collective::kAllReduce, 40), "SBRSBR");
  EXPECT_EQ(waits(Collective::kAllGather, 30), "SSRSRR");
  EXPECT_EQ(waits(Collective::kReduceScatter, 30), "SSRSRR");
}

}  // namespace
}  // namespace xylem::collectives
