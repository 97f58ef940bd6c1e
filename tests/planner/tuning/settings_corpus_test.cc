// Replays the settings fuzzer's corpus in the normal builds: every input that once broke something goes there
// and stays.

#include <gtest/gtest.h>

#include "fuzz/replay.h"
#include "fuzz/settings_input.h"

namespace xylem {
namespace {

TEST(Corpus, EverySettingIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("settings", feedSettings);
  EXPECT_GE(replayed.accepted, 10);
  EXPECT_GE(replayed.refused, 5);
}

}  // namespace
}  // namespace xylem
