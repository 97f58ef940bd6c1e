// Blocks whose peers do not come, or whose job is aborted, end; and they say why.

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

class Aborts : public ::testing::TestWithParam<Kind> {};

LocalCase caseOf(const Kind& kind, Protocol protocol, int ranks, bool byReference = false) {
  return {.collective = kind.collective,
          .algorithm = kind.algorithm,
          .protocol = protocol,
          .ranks = ranks,
          .block = 700,
          .stepBytes = 120,
          .byReference = byReference,
          .places = ranks != 2 || !byReference};
}

TEST_P(Aborts, EndEveryBlockWhereverItIs) {
  const int moments = testing::kThreadSanitizer ? 2 : byEffort({.quick = 3, .normal = 8, .night = 200});
  for (const Protocol protocol : kAllProtocols)
    for (const int ranks : {2, 5}) {
      const LocalCase c = caseOf(GetParam(), protocol, ranks, ranks == 2);
      // The turns of a run tell where the middle of the next one is, roughly.
      std::mt19937 random(5);
      LocalJob whole(c, random);
      KernelJob first(c, whole);
      ASSERT_EQ(first.run(), "") << c.describe();
      for (int i = 0; i < moments; ++i) {
        LocalJob job(c, random);
        KernelJob kernel(c, job);
        ASSERT_EQ(kernel.runAndAbort(first.turns() * i / moments), "") << c.describe();
        ASSERT_EQ(job.strayWrite(), "") << c.describe();
      }
    }
}

// The first rank never begins. The others wait for it until the job is aborted.
TEST_P(Aborts, EndBlocksThatWaitForARankWithoutABlock) {
  constexpr std::int64_t kTurns = 40'000, kMostTurns = kTurns << 8;
  for (const Protocol protocol : kAllProtocols) {
    const LocalCase c = caseOf(GetParam(), protocol, 2);
    bool reported = false;
    // On a loaded machine a block may not have waited for long when the abort comes: the next one comes later.
    for (std::int64_t turns = kTurns; !reported && turns <= kMostTurns; turns *= 4) {
      std::mt19937 random(6);
      LocalJob job(c, random);
      KernelJob kernel(c, job, [](int rank) { return rank == 0; });
      ASSERT_EQ(kernel.runAndAbort(turns), "") << c.describe();
      EXPECT_EQ(kernel.blocksWith(Outcome::kDone) + kernel.blocksWith(Outcome::kAborted),
                static_cast<int>(job.parts().size()) / 2);
      EXPECT_GE(kernel.blocksWith(Outcome::kAborted), 1) << c.describe();
      reported = (kernel.reportOf(1)->outcome == Outcome::kAborted) == (kernel.reportOf(1)->waitsFor == 1);
    }
    EXPECT_TRUE(reported) << c.describe();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Aborts, ::testing::ValuesIn(kKinds), [](const auto& instance) {
  return std::string(name(instance.param.algorithm)) + name(instance.param.collective);
});

}  // namespace
}  // namespace xylem::gpu
