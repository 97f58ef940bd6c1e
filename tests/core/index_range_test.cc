#include "core/index_range.h"

#include <gmock/gmock.h>

#include <vector>

namespace xylem {
namespace {

TEST(IndexRange, HoldsTheIndicesFromFirstToBeforeEnd) {
  const IndexRange range(2, 5);
  EXPECT_THAT(std::vector<int>(range.begin(), range.end()), ::testing::ElementsAre(2, 3, 4));
  EXPECT_EQ(range.size(), 3u);
  EXPECT_EQ(range.front(), 2);
  EXPECT_EQ(range[2], 4);
}

TEST(IndexRange, MayBeEmpty) {
  EXPECT_TRUE(IndexRange(3, 3).empty());
  EXPECT_TRUE(IndexRange(3, 1).empty());
  EXPECT_EQ(IndexRange(3, 1).size(), 0u);
}

}  // namespace
}  // namespace xylem
