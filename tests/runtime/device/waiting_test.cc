#include "runtime/device/waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace xylem::device {
namespace {

// How often a call tries in vain.
std::size_t triesOf(BriefSpin& spin, std::size_t bytes) {
  std::size_t tries = 0;
  EXPECT_FALSE(spin.finishes(bytes, [&] { return ++tries == 0; }));
  return tries;
}

TEST(BriefSpin, TriesUntilTheStepIsDone) {
  BriefSpin spin(true);
  int tries = 0;
  EXPECT_TRUE(spin.finishes(0, [&] { return ++tries == 5; }));
  EXPECT_EQ(tries, 5);
}

TEST(BriefSpin, WaitsLongerForMoreData) {
  BriefSpin little(true), much(true);
  EXPECT_GT(triesOf(little, 0), 1u);
  EXPECT_GT(triesOf(much, 64 << 10), 2 * triesOf(little, 0));
}

TEST(BriefSpin, WaitsLessOftenTheMoreOftenItWasInVain) {
  BriefSpin spin(true);
  std::size_t gap = 0, longest = 0;
  for (int call = 0; call < 1000; ++call) {
    if (triesOf(spin, 0) > 1)
      gap = 0;
    else
      longest = std::max(longest, ++gap);
  }
  EXPECT_EQ(longest, 63u) << "one call of 64 still waits";
  EXPECT_TRUE(spin.finishes(0, [] { return true; }));
  EXPECT_GT(triesOf(spin, 0), 1u) << "after a success the next call waits again";
}

TEST(BriefSpin, DoesNotWaitWhereRanksShareCores) {
  BriefSpin spin(false);
  for (int call = 0; call < 100; ++call) EXPECT_EQ(triesOf(spin, 1 << 20), 1u);
}

}  // namespace
}  // namespace xylem::device
