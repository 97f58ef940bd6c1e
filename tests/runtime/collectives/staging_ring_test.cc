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
      const std::size_t bytes = random() % 4 == 0 ? transport::kMostStaged : 1 + random() % most;
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
  constexpr std::size_t kCycle = std::size_t{1} << 20, kData = std::size_t{16} << 10;
  StagingRing ring(kCycle);
  for (std::uint64_t number = 1; number <= kCycle / kData; ++number) {
    EXPECT_EQ(ring.take(kData, number), (number - 1) * kData);
    EXPECT_EQ(ring.needed(), 0U);
  }
  // Sixteen zones: four meetings in each.
  EXPECT_EQ(ring.take(kData, 65), 0U);
  EXPECT_EQ(ring.needed(), 4U);
  ring.take(kData, 66);
  EXPECT_EQ(ring.needed(), 4U);
  ring.take(3 * kData, 67);
  EXPECT_EQ(ring.needed(), 8U);
  // Data that does not fit goes to the start.
  ring.take(kCycle - 5 * kData - 64, 68);
  EXPECT_EQ(ring.next(64), 0U);
}

// With the least cycle.
TEST(StagingRing, DataStaysInTheCachesWhereGoingFarGainsNothing) {
  for (const auto& [bytes, lap] :
       {std::pair(8, 256), std::pair(64, 256), std::pair(128, 512), std::pair(256, 768)}) {
    StagingRing ring(transport::kLeastCycle);
    std::size_t most = 0;
    for (std::uint64_t number = 1; number <= 100; ++number)
      most = std::max(most, ring.take(static_cast<std::size_t>(bytes) << 10, number));
    EXPECT_EQ(most, static_cast<std::size_t>(lap - bytes) << 10);
  }
}

}  // namespace
}  // namespace xylem::collectives
