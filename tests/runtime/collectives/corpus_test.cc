// Replays the corpus of what ranks of a host post on their boards in the normal builds: every input that once
// broke something goes there and stays.

#include <gtest/gtest.h>

#include "fuzz/board_input.h"
#include "fuzz/replay.h"

namespace xylem {
namespace {

TEST(Corpus, EveryPostingIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("board", feedBoards);
  EXPECT_GE(replayed.accepted, 20);
  EXPECT_GE(replayed.refused, 5);
}

}  // namespace
}  // namespace xylem
