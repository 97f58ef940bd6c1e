// When a rank looks first for the descriptor of another one.

#include "runtime/collectives/first_look.h"

#include <gtest/gtest.h>

namespace xylem::collectives {
namespace {

// One operation: the descriptor is there at the look after `late` ones.
void lookFor(FirstLook& look, int late, std::size_t bytes = 8) {
  look.begin(bytes);
  for (int i = 0; i < late; ++i) look.waits();
  look.arrived();
}

TEST(FirstLook, IsHeldBackUntilOthersRunAhead) {
  FirstLook look(FirstLook::kOneWay);
  EXPECT_TRUE(look.othersAreAhead());
  lookFor(look, 1);
  EXPECT_FALSE(look.othersAreAhead());
  // Only one look in four is not held back, and shows that the others are ahead.
  for (int i = 0; i < 3; ++i) {
    lookFor(look, 0);
    EXPECT_FALSE(look.othersAreAhead());
  }
  lookFor(look, 0);
  EXPECT_TRUE(look.othersAreAhead());
}

TEST(FirstLook, LearnsHowMuchLaterToLook) {
  FirstLook look(FirstLook::kOneWay);
  lookFor(look, 1);
  const int least = look.pauses();
  // Waits that are long anyway, and those for much data, teach nothing.
  for (int i = 0; i < 20; ++i) {
    lookFor(look, 1000);
    lookFor(look, 2, 32768);
  }
  EXPECT_EQ(look.pauses(), least);
  for (int i = 0; i < 100; ++i) lookFor(look, 2);
  const int most = look.pauses();
  EXPECT_GT(most, 3 * least);
  for (int i = 0; i < 100; ++i) lookFor(look, 2);
  EXPECT_EQ(look.pauses(), most) << "there is a limit";
  // It finds the descriptor at once, but for the looks that are not held back.
  for (int i = 0; i < 1000; ++i) lookFor(look, i % 4 == 0 ? 2 : 0);
  EXPECT_LT(look.pauses(), most);
}

TEST(FirstLook, IsNotHeldBackForLongIfAllComeAtTheSameInstant) {
  FirstLook look(FirstLook::kBothWays);
  EXPECT_EQ(look.pauses(), 0);
  for (int i = 0; i < 100; ++i) lookFor(look, 2);
  EXPECT_GT(look.pauses(), 8);
  for (int i = 0; i < 1000; ++i) lookFor(look, i % 4 == 0 ? 2 : 0);
  EXPECT_EQ(look.pauses(), 0);
}

}  // namespace
}  // namespace xylem::collectives
