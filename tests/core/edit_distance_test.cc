#include "core/edit_distance.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("plan", "plan"), 0u);
  EXPECT_EQ(editDistance("plna", "plan"), 2u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

TEST(NearestWord, TakesTheFirstOfTheNearest) {
  EXPECT_EQ(nearestWord("detct", {"plan", "detect", "show"}), "detect");
  EXPECT_EQ(nearestWord("plan", {"plan1", "plan2"}), "plan1");
}

TEST(NearestWord, IsEmptyForWhatIsFarFromAll) {
  EXPECT_EQ(nearestWord("zzzzzzzz", {"plan", "detect"}), "");
  EXPECT_EQ(nearestWord("plan", {}), "");
}

}  // namespace
}  // namespace xylem
