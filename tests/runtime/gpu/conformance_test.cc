// The kernel against the host device: every collective, algorithm, protocol, type and operation gives the same bits, whether all
// ranks run the kernel or only some of them.

#include <gtest/gtest.h>

#include "runtime/collectives/local_job.h"
#include "runtime/collectives/wiring.h"
#include "runtime/gpu/kernel_job.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace xylem::gpu {
namespace {

using testing::byEffort;
using testing::KernelJob;
using testing::Kind;
using testing::kKinds;
using testing::LocalCase;
using testing::LocalJob;

// Chooses the rest of a case at random. GPUs read whole elements, so buffers are aligned to these and to nothing more.
LocalCase completed(LocalCase c, std::mt19937& random) {
  constexpr std::size_t kSteps[] = {8, 120, 128, 240, 600, 1024};
  c.stepBytes = kSteps[random() % std::size(kSteps)];
  c.overlaps = random() % 2 == 0;
  c.chunkSteps = 1 + random() % collectives::stepsPerChunk(c.collective, c.algorithm, c.overlaps);
  const std::size_t slice = c.stepBytes / elementBytes(c.type);
  const std::size_t longest = (gathersOrScatters(c.collective) ? 3 : 6) * slice;
  c.block = random() % 10 == 0 ? random() % 3 : 1 + random() % longest;
  c.root = static_cast<int>(random() % static_cast<unsigned>(c.ranks));
  c.inPlace = random() % 2 == 0;
  c.channels = random() % 4 == 0 ? 2 : 1;
  c.shift = random() % 16 * elementBytes(c.type);
  c.exchange = random() % 2 == 0;
  c.byReference = random() % 2 == 0;
  c.places = random() % 2 == 0;
  return c;
}

// Runs the case on the host device and by the kernel, which may share it with the host device.
void check(const LocalCase& c, unsigned seed, const KernelJob::IsOnHost& isOnHost = {}) {
  std::mt19937 random(seed);
  LocalJob host(c, random);
  ASSERT_EQ(host.runInTurns(random), "") << c.describe();
  random.seed(seed);
  LocalJob job(c, random);
  KernelJob kernel(c, job, isOnHost);
  ASSERT_EQ(kernel.run(), "") << c.describe();
  for (int rank = 0; rank < c.ranks; ++rank)
    ASSERT_EQ(job.output(rank), host.output(rank)) << c.describe() << " rank " << rank;
  // Nothing else was written.
  ASSERT_EQ(job.mismatch(), "") << c.describe();
}

class Kernels : public ::testing::TestWithParam<Kind> {};

// The step from one tried case to the next: 1 tries all of them.
int stepOfCases() {
  if (testing::kThreadSanitizer) return byEffort({.quick = 101, .normal = 13, .night = 3});
  if (testing::kAddressSanitizer) return byEffort({.quick = 31, .normal = 3, .night = 1});
  return byEffort({.quick = 5, .normal = 1, .night = 1});
}

TEST_P(Kernels, GiveTheBitsOfTheHostDevice) {
  const auto [collective, algorithm] = GetParam();
  std::mt19937 random(7);
  const int step = stepOfCases();
  const int rounds = byEffort({.quick = 1, .normal = 1, .night = 20});
  int number = 0;
  for (int round = 0; round < rounds; ++round)
    for (int t = 0; t < kDataTypes; ++t)
      for (int op = 0; op <= (reduces(collective) ? collectives::kPreMulSum : 0); ++op)
        for (const Protocol protocol : kAllProtocols)
          for (int ranks = 2; ranks <= 8; ++ranks) {
            const LocalCase c = completed({.collective = collective,
                                           .algorithm = algorithm,
                                           .protocol = protocol,
                                           .type = static_cast<DataType>(t),
                                           .op = op,
                                           .ranks = ranks},
                                          random);
            if (number++ % step != 0) continue;
            check(c, static_cast<unsigned>(random()));
            if (HasFatalFailure()) return;
          }
}

TEST_P(Kernels, CountEverythingAroundTheBordersOfWordsLinesAndSteps) {
  const int step = testing::kThreadSanitizer ? 9 : testing::kAddressSanitizer ? 3 : 1;
  int number = 0;
  for (const Protocol protocol : kAllProtocols)
    for (const std::size_t count :
         {0u,   1u,   3u,   4u,   5u,   7u,   8u,   9u,   15u,  16u,  17u,  31u,  119u,
          120u, 121u, 127u, 128u, 129u, 239u, 240u, 241u, 511u, 512u, 513u, 1025u})
      for (const bool inPlace : {false, true}) {
        if (number++ % step != 0) continue;
        check({.collective = GetParam().collective,
               .algorithm = GetParam().algorithm,
               .protocol = protocol,
               .type = number % 2 == 0 ? DataType::kUint8 : DataType::kBfloat16,
               .ranks = 3,
               .root = 1,
               .block = count,
               .inPlace = inPlace,
               .stepBytes = 240,
               .chunkSteps = 2,
               .shift = count % 16 * 2},
              static_cast<unsigned>(count));
        if (HasFatalFailure()) return;
      }
}

TEST_P(Kernels, OneRankCopiesItsData) {
  for (const int op : {0, static_cast<int>(ReduceOp::kAvg), collectives::kPreMulSum}) {
    if (op != 0 && !reduces(GetParam().collective)) continue;
    for (const bool inPlace : {false, true}) {
      check({.collective = GetParam().collective,
             .algorithm = GetParam().algorithm,
             .protocol = Protocol::kLl,
             .op = op,
             .ranks = 1,
             .block = 300,
             .inPlace = inPlace},
            1);
      if (HasFatalFailure()) return;
    }
  }
}

// Steps that every thread of the movers has several packs of.
TEST_P(Kernels, MoveLongSteps) {
  for (const Protocol protocol : kAllProtocols)
    for (const int way : {0, 1, 2}) {
      check({.collective = GetParam().collective,
             .algorithm = GetParam().algorithm,
             .protocol = protocol,
             .type = DataType::kFloat16,
             .ranks = 4,
             .block = testing::kThreadSanitizer ? 5000u : 30000u,
             .stepBytes = 3840,
             .chunkSteps = 2,
             .shift = 6,
             .byReference = way == 1,
             .places = way == 2},
            3);
      if (HasFatalFailure()) return;
      if (protocol != Protocol::kSimple) break;  // under others all data goes through slots
    }
}

// Neither end of a queue knows what executes the other one.
TEST_P(Kernels, ShareAJobWithTheHostDevice) {
  std::mt19937 random(8);
  const int rounds = testing::kThreadSanitizer ? 1 : byEffort({.quick = 1, .normal = 4, .night = 40});
  for (int round = 0; round < rounds; ++round)
    for (const Protocol protocol : kAllProtocols)
      for (const int ranks : {2, 3, 5}) {
        LocalCase c = completed({.collective = GetParam().collective,
                                 .algorithm = GetParam().algorithm,
                                 .protocol = protocol,
                                 .type = static_cast<DataType>(random() % kDataTypes),
                                 .ranks = ranks},
                                random);
        // A tree's results may take the place of input as each word of LL depends on what was read for it. The thread sanitizer knows
        // only acquire and release, and the host device's words have neither.
        if (testing::kThreadSanitizer && GetParam().algorithm == Algorithm::kTree &&
            protocol == Protocol::kLl)
          c.inPlace = false;
        check(c, static_cast<unsigned>(random()), [](int rank) { return rank % 2 == 1; });
        if (HasFatalFailure()) return;
      }
}

// The numbers of steps go on from operation to operation, and LL words are cleared every 2^31 steps.
TEST_P(Kernels, GoOnWhereverTheQueuesStand) {
  for (const Protocol protocol : kAllProtocols)
    for (const std::uint64_t before : {1u, 3u, 6u}) {
      check({.collective = GetParam().collective,
             .algorithm = GetParam().algorithm,
             .protocol = protocol,
             .ranks = 3,
             .block = 500,
             .stepBytes = 240,
             .firstStep = (std::uint64_t{1} << 31) - before},
            static_cast<unsigned>(before));
      if (HasFatalFailure()) return;
    }
}

// A rank that has a partial sum of the other one knows its offer: that was made before the sum was sent. So all results go straight into
// the other rank's output, the last step of each queue among them.
TEST(PlacedResults, GoIntoTheOutputOfTheRankThatReceivesThem) {
  const LocalCase c{.collective = Function::kAllReduce,
                    .algorithm = Algorithm::kRing,
                    .protocol = Protocol::kSimple,
                    .ranks = 2,
                    .block = 3000,
                    .stepBytes = 1024,
                    .places = true};
  for (const bool places : {true, false}) {
    LocalCase tried = c;
    tried.places = places;
    std::mt19937 random(9);
    LocalJob job(tried, random);
    KernelJob kernel(tried, job);
    ASSERT_EQ(kernel.run(), "");
    ASSERT_EQ(job.mismatch(), "");
    for (const LocalJob::Part& part : job.parts()) {
      const transport::QueueControl& queue = part.work.from[0]->control();
      const transport::StepNote& last = queue.notes[(queue.tail.load() - 1) % transport::kQueueSteps];
      EXPECT_EQ(last.region, places ? transport::StepNote::kPlaced : 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, ::testing::ValuesIn(kKinds), [](const auto& instance) {
  return std::string(name(instance.param.algorithm)) + name(instance.param.collective);
});

}  // namespace
}  // namespace xylem::gpu
