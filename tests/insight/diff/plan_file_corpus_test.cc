// Replays the plan file fuzzer's corpus in the normal builds: every input that once broke something goes
// there and stays.

#include <gtest/gtest.h>

#include "fuzz/plan_file_input.h"
#include "fuzz/replay.h"

namespace xylem {
namespace {

TEST(Corpus, EveryPlanFileIsReadOrRefused) {
  const Replayed replayed = replayCorpus("plan_file", feedPlanFile);
  EXPECT_GE(replayed.accepted, 5);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem
