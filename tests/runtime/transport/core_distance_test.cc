#include "runtime/transport/choices/core_distance.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

namespace xylem::transport {
namespace {

using std::chrono::nanoseconds;

TEST(CoreDistance, TwoTimesInARowChangeIt) {
  CoreDistance distance;
  const auto after = [&](const std::vector<std::optional<nanoseconds>>& lines) {
    int changes = 0;
    for (const auto& line : lines) changes += distance.took(line);
    return changes;
  };
  const nanoseconds near(70), far(280), between(130), disturbed(20'000);
  EXPECT_EQ(after({near, far, near, far, near}), 0);
  EXPECT_FALSE(distance.isFar());
  // Times in between, and disturbed ones, are passed over.
  EXPECT_EQ(after({far, between, std::nullopt, disturbed, far}), 1);
  EXPECT_TRUE(distance.isFar());
  EXPECT_EQ(after({far, near, far, disturbed, between}), 0);
  EXPECT_TRUE(distance.isFar());
  EXPECT_EQ(after({near, near, near}), 1);
  EXPECT_FALSE(distance.isFar());
}

TEST(BeatProbe, TimesOnlyALineThatWasWritten) {
  BeatProbe probe;
  std::atomic<std::uint32_t> beat{0};
  EXPECT_FALSE(probe.load(beat));
  beat = 1;
  EXPECT_TRUE(probe.load(beat));
  EXPECT_FALSE(probe.load(beat));
  beat = 0;  // its writer counts from 0 again after 2^32
  EXPECT_TRUE(probe.load(beat));
}

TEST(BeatProbe, LoadsOncePer128KiB) {
  for (const std::uint64_t bytes : {8 << 10, 100 << 10, 128 << 10, 16 << 20}) {
    BeatProbe probe;
    int due = 0;
    for (int i = 0; i < 64; ++i) due += probe.isDue(bytes);
    EXPECT_EQ(due, bytes == 8 << 10 ? 4 : bytes == 100 << 10 ? 32 : 64) << bytes;
  }
}

}  // namespace
}  // namespace xylem::transport
