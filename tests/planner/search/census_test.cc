#include "planner/search/census.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

// All ways from GPU 0 through a complete graph of four.
Census completeGraph() {
  Census census;
  census.clear(4);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from != to) census.addWay(from, to, from == 1 ? 2 : 1);
  for (int last = 1; last < 4; ++last) census.setEnd(last, 2, 1);
  return census;
}

TEST(Census, CountsEveryStepOfEveryOrder) {
  Census census = completeGraph();
  // 3 second GPUs, 6 third, 6 last, each of those with 2 steps to its end.
  ASSERT_TRUE(census.count(0, 1, 1000));
  EXPECT_EQ(census.steps(), 3 + 6 + 6 + 6 * 2);
}

TEST(Census, FindsTheFewestHops) {
  Census census = completeGraph();
  ASSERT_TRUE(census.count(0, 1, 1000));
  EXPECT_EQ(census.completed().channels, 1);
  EXPECT_EQ(census.completed().hops, 4);  // ending at GPU 1, whose ways are longer
}

TEST(Census, GivesUpAtTheLimit) {
  Census census = completeGraph();
  EXPECT_TRUE(census.count(0, 1, 28));
  census = completeGraph();
  EXPECT_FALSE(census.count(0, 1, 27));
}

TEST(Census, CompletesNothingWithoutAnEnd) {
  Census census = completeGraph();
  for (int last = 1; last < 4; ++last) census.setEnd(last, 0, 0);
  ASSERT_TRUE(census.count(0, 1, 1000));
  EXPECT_EQ(census.steps(), 3 + 6 + 6);
  EXPECT_EQ(census.completed().channels, 0);
}

}  // namespace
}  // namespace xylem
