// Where the staged data of meetings lies, and what must have been left before it is written.

#include "runtime/collectives/staging_ring.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace xylem::collectives {
namespace {

struct Place {
  std::size_t begin, end;
  std::uint64_t number;
};

// For all sizes, in any order: no place overlaps one of a meeting that need not have been left, or that of the meeting before.
TEST(StagingRing, DataIsNotOverwrittenBeforeItsMeetingIsLeft) {
  std::mt19937 random(1);
  for (const std::size_t cycle : {786432U, 2097152U, 1000003U}) {
    StagingRing ring(cycle);
    std::vector<Place> places;
    std::uint64_t number = 0;
    for (int i = 0; i < 1500; ++i) {
      number += 1 + random() % 3;
      const std::size_t most = std::size_t{1} << (6 + (random() + static_cast<unsigned>(i) / 100) % 13);
      const std::size_t bytes = 1 + random() % most;
      const std::size_t promised = ring.next(bytes), at = ring.take(bytes, number);
      ASSERT_EQ(at, promised);
      ASSERT_LE(at + bytes, cycle);
      ASSERT_LT(ring.needed(), number);
      for (const Place& place : places) {
        const bool apart = at >= place.end || at + bytes <= place.begin;
        ASSERT_TRUE(apart || place.number <= ring.needed()) << i;
        ASSERT_TRUE(apart || &place != &places.back()) << i;
      }
      places.push_back({at, at + bytes, number});
    }
  }
}

TEST(StagingRing, AllOfTheCycleIsUsedBeforeAMeetingMustBeLeft) {
  StagingRing ring(786432);
  for (std::uint64_t number = 1; number <= 48; ++number) {
    EXPECT_EQ(ring.take(16384, number), (number - 1) * 16384);
    EXPECT_EQ(ring.needed(), 0U);
  }
  // Sixteen zones: three meetings in each.
  EXPECT_EQ(ring.take(16384, 49), 0U);
  EXPECT_EQ(ring.needed(), 3U);
  ring.take(16384, 50);
  EXPECT_EQ(ring.needed(), 3U);
  ring.take(32768, 51);
  EXPECT_EQ(ring.needed(), 6U);
  // Data that does not fit goes to the start.
  ring.take(786432 - 4 * 16384 - 64, 52);
  EXPECT_EQ(ring.next(64), 0U);
}

}  // namespace
}  // namespace xylem::collectives
