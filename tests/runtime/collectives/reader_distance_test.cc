#include "runtime/collectives/reader_distance.h"

#include <gtest/gtest.h>

#include <vector>

namespace xylem {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(ReaderDistance, IsWhatTheLinesLastTook) {
  ReaderDistance distance;
  EXPECT_TRUE(distance.isNear());
  distance.note(nanoseconds(1200), 128);
  EXPECT_FALSE(distance.isNear());
  distance.note(nanoseconds(240), 128);
  EXPECT_TRUE(distance.isNear());
}

TEST(ReaderDistance, IsNotChangedByLosingTheCore) {
  ReaderDistance distance;
  distance.note(microseconds(40), 128);
  EXPECT_TRUE(distance.isNear());
}

TEST(ReaderDistance, IsMeasuredOnWritesForWhichItMatters) {
  ReaderDistance distance;
  std::vector<bool> ways;
  const auto write = [&](bool isNear) { ways.push_back(isNear); };
  distance.note(nanoseconds(1200), 128);
  distance.write(3 << 10, write);   // too few lines to measure
  distance.write(64 << 10, write);  // too many for it to matter
  EXPECT_EQ(ways, (std::vector<bool>{false, false}));
  distance.write(8 << 10, write);  // line by line, which took no time
  distance.write(8 << 10, write);
  EXPECT_EQ(ways, (std::vector<bool>{false, false, true, true}));
}

}  // namespace
}  // namespace xylem
