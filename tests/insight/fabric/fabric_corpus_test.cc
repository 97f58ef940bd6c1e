// The fuzzers' corpora of fabrics, replayed.

#include <gtest/gtest.h>

#include "fuzz/fabric_file_input.h"
#include "fuzz/replay.h"

namespace xylem {
namespace {

TEST(FabricCorpus, Text) {
  const Replayed replayed = replayCorpus("fabric_file", feedFabricFile);
  EXPECT_GE(replayed.accepted, 2);
  EXPECT_GE(replayed.refused, 2);
}

TEST(FabricCorpus, Ibnetdiscover) {
  const Replayed replayed = replayCorpus("ib_fabric", feedIbFabric);
  EXPECT_GE(replayed.accepted, 1);
  EXPECT_GE(replayed.refused, 1);
}

}  // namespace
}  // namespace xylem
