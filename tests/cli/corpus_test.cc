// Replays the corpus of flight recorders in the normal builds: every input that once broke something goes
// there and stays.

#include <gtest/gtest.h>

#include "fuzz/flight_area_input.h"
#include "fuzz/replay.h"

namespace xylem {
namespace {

TEST(Corpus, EveryFlightRecorderIsReadOrRefused) {
  const Replayed replayed = replayCorpus("flight_area", feedFlightArea);
  EXPECT_GE(replayed.accepted, 16);
  EXPECT_GE(replayed.refused, 5);
}

}  // namespace
}  // namespace xylem
