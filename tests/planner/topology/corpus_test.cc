// Replays the topology fuzzer's corpus in the normal builds: every input that once broke something goes there
// and stays.

#include <gtest/gtest.h>

#include "fuzz/replay.h"
#include "fuzz/topology_input.h"

namespace xylem {
namespace {

TEST(Corpus, EveryTopologyIsReadOrRefused) {
  const Replayed replayed = replayCorpus("topology", feedTopology);
  EXPECT_GE(replayed.accepted, 10);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem
