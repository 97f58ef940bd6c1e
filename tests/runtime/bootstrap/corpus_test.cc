// Replays the corpora of the fuzzers of bootstrap messages in the normal builds. They hold every input that
// once broke something.

#include <gtest/gtest.h>

#include "fuzz/frames_input.h"
#include "fuzz/gather_input.h"
#include "fuzz/replay.h"
#include "fuzz/roster_input.h"
#include "fuzz/unique_id_input.h"

namespace xylem::bootstrap {
namespace {

TEST(Corpus, EveryFrameIsReadOrRefused) {
  const Replayed replayed = replayCorpus("frames", feedFrames);
  EXPECT_GE(replayed.accepted, 9);
  EXPECT_GE(replayed.refused, 7);
}

TEST(Corpus, EveryExchangeIsReadOrRefused) {
  const Replayed replayed = replayCorpus("gather", feedGather);
  EXPECT_GE(replayed.accepted, 5);
  EXPECT_GE(replayed.refused, 12);
}

TEST(Corpus, EveryClaimAtARootGetsASeatOrIsRefused) {
  const Replayed replayed = replayCorpus("roster", feedRoster);
  EXPECT_GE(replayed.accepted, 3);
  EXPECT_GE(replayed.refused, 8);
}

TEST(Corpus, EveryIdIsReadOrRefused) {
  const Replayed replayed = replayCorpus("unique_id", feedUniqueId);
  EXPECT_GE(replayed.accepted, 6);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem::bootstrap
