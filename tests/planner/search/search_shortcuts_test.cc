// The shortcuts of the search: counting orders of GPUs, and the memo.

#include <gtest/gtest.h>

#include "planner/search/order_count.h"
#include "planner/search/search_memo.h"

namespace xylem::search {
namespace {

// A complete graph of four GPUs, with channels from GPU 0.
OrderCount completeGraph() {
  OrderCount count;
  count.clear(4);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      if (from != to) count.addHop(from, to, from == 1 ? 2 : 1);
  for (int last = 1; last < 4; ++last) count.setEnd(last, 2, 1);
  return count;
}

TEST(OrderCount, CountsEveryStepOfEveryOrder) {
  OrderCount count = completeGraph();
  // 3 second GPUs, 6 third, 6 last, each of those with 2 steps to its end.
  ASSERT_TRUE(count.count(0, 1, 1000));
  EXPECT_EQ(count.steps(), 3 + 6 + 6 + 6 * 2);
}

TEST(OrderCount, FindsTheFewestHops) {
  OrderCount count = completeGraph();
  ASSERT_TRUE(count.count(0, 1, 1000));
  EXPECT_EQ(count.score().channels, 1);
  EXPECT_EQ(count.score().hops, 4);  // ending at GPU 1, whose ways are longer
}

TEST(OrderCount, GivesUpAtTheLimit) {
  OrderCount count = completeGraph();
  EXPECT_TRUE(count.count(0, 1, 28));
  count = completeGraph();
  EXPECT_FALSE(count.count(0, 1, 27));
}

TEST(OrderCount, CompletesNothingWithoutAnEnd) {
  OrderCount count = completeGraph();
  for (int last = 1; last < 4; ++last) count.setEnd(last, 0, 0);
  ASSERT_TRUE(count.count(0, 1, 1000));
  EXPECT_EQ(count.steps(), 3 + 6 + 6);
  EXPECT_EQ(count.score().channels, 0);
}

TEST(SearchMemo, FindsWhatWasAddedUntilCleared) {
  SearchMemo memo;
  for (std::uint64_t key = 1; key <= 10000; ++key) memo.add(key * key, static_cast<std::int64_t>(key), {});
  for (std::uint64_t key = 1; key <= 10000; ++key) {
    const SearchMemo::Entry* entry = memo.find(key * key);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->steps, static_cast<int>(key));
  }
  EXPECT_EQ(memo.find(3), nullptr);
  memo.clear();
  EXPECT_EQ(memo.find(1), nullptr);
}

}  // namespace
}  // namespace xylem::search
