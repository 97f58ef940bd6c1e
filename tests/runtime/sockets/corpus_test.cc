// Replays the handshake fuzzer's corpus in the normal builds: every input that once broke something goes there
// and stays.

#include <gtest/gtest.h>

#include "fuzz/handshake_input.h"
#include "fuzz/replay.h"

namespace xylem {
namespace {

TEST(Corpus, NoHandshakeGetsAStrangerIn) {
  const Replayed replayed = replayCorpus("handshake", feedHandshake);
  EXPECT_GE(replayed.accepted, 7);
  EXPECT_GE(replayed.refused, 6);
}

}  // namespace
}  // namespace xylem
