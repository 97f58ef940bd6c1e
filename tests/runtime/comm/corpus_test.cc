// Replays the fuzzers' corpora of messages between joining ranks in the normal builds: every input that once
// broke something stays there.

#include <gtest/gtest.h>

#include "fuzz/call_check_input.h"
#include "fuzz/host_description_input.h"
#include "fuzz/host_report_input.h"
#include "fuzz/peer_info_input.h"
#include "fuzz/replay.h"

namespace xylem::comm {
namespace {

TEST(Corpus, EveryRankHasAPlaceOnAHost) {
  const Replayed replayed = replayCorpus("peer_info", feedPeerInfo);
  EXPECT_GE(replayed.accepted, 4);
  EXPECT_GE(replayed.refused, 2);
}

TEST(Corpus, EveryDescriptionOfAHostIsFusedOrRefused) {
  const Replayed replayed = replayCorpus("host_description", feedHostDescription);
  EXPECT_GE(replayed.accepted, 2);
  EXPECT_GE(replayed.refused, 3);
}

TEST(Corpus, EveryReportOfAHostIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("host_report", feedHostReport);
  EXPECT_GE(replayed.accepted, 2);
  EXPECT_GE(replayed.refused, 4);
}

TEST(Corpus, EveryComparisonOfCallsHasAVerdict) {
  const Replayed replayed = replayCorpus("call_check", feedCallCheck);
  EXPECT_GE(replayed.accepted, 4);
  EXPECT_GE(replayed.refused, 7);
}

}  // namespace
}  // namespace xylem::comm
