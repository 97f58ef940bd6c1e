// Replays the corpora of the fuzzers of transports in the normal builds. Every input that once broke
// something is in a corpus and stays there.

#include <gtest/gtest.h>

#include "fuzz/carried_queue_input.h"
#include "fuzz/choice_file_input.h"
#include "fuzz/local_dialogue_input.h"
#include "fuzz/net_message_input.h"
#include "fuzz/queue_input.h"
#include "fuzz/replay.h"
#include "fuzz/session_input.h"
#include "fuzz/socket_link_input.h"

namespace xylem::transport {
namespace {

TEST(Corpus, EveryFileOfChoicesIsBelievedOnlyWhereItIsWhole) {
  const Replayed replayed = replayCorpus("choice_file", feedChoiceFile);
  EXPECT_GE(replayed.accepted, 3);
  EXPECT_GE(replayed.refused, 10);
}

TEST(Corpus, EveryDialogueOfAHostEndsOrIsRefused) {
  const Replayed replayed = replayCorpus("local_dialogue", feedLocalDialogue);
  EXPECT_GE(replayed.accepted, 11);
  EXPECT_GE(replayed.refused, 14);
}

TEST(Corpus, EveryMessageOfASessionIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("session", feedSession);
  EXPECT_GE(replayed.accepted, 5);
  EXPECT_GE(replayed.refused, 11);
}

TEST(Corpus, EveryOfferIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("net_message", feedNetMessage);
  EXPECT_GE(replayed.accepted, 3);
  EXPECT_GE(replayed.refused, 9);
}

TEST(Corpus, EveryMessageOfALinkIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("socket_link", feedSocketLink);
  EXPECT_GE(replayed.accepted, 6);
  EXPECT_GE(replayed.refused, 5);
}

TEST(Corpus, EveryQueueStaysInItsMemory) {
  const Replayed replayed = replayCorpus("queue", feedQueue);
  EXPECT_GE(replayed.accepted, 7);
  EXPECT_GE(replayed.refused, 6);
}

TEST(Corpus, EveryCarriedQueueIsSentOrGivenUp) {
  const Replayed replayed = replayCorpus("carried_queue", feedCarriedQueue);
  EXPECT_GE(replayed.accepted, 3);
  EXPECT_GE(replayed.refused, 4);
}

}  // namespace
}  // namespace xylem::transport
