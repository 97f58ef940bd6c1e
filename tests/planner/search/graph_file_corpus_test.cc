// Replays the graph file fuzzer's corpus in the normal builds: every input that once broke something goes
// there and stays.

#include <gtest/gtest.h>

#include "fuzz/graph_file_input.h"
#include "fuzz/replay.h"

namespace xylem {
namespace {

TEST(Corpus, EveryGraphFileIsReadOrRefused) {
  const Replayed replayed = replayCorpus("graph_file", feedGraphFile);
  EXPECT_GE(replayed.accepted, 10);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem
