#include "core/use_marks.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace xylem {
namespace {

TEST(UseMarks, AreSeenFromOtherThreadsUntilTheyAreCleared) {
  const int object = 0, other = 0;
  UseMark* const mark = UseMarks::ofThread().set(&object);
  ASSERT_NE(mark, nullptr);
  std::thread([&] {
    settleUseMarks();
    EXPECT_TRUE(isMarked(&object));
    EXPECT_FALSE(isMarked(&other));
  }).join();
  mark->clear();
  EXPECT_FALSE(isMarked(&object));
}

TEST(UseMarks, AThreadHasAFewOfThem) {
  const int object = 0;
  std::vector<UseMark*> marks;
  while (UseMark* const mark = UseMarks::ofThread().set(&object)) marks.push_back(mark);
  ASSERT_GE(marks.size(), 2U);
  // Marks may be cleared in any order.
  marks.front()->clear();
  EXPECT_TRUE(isMarked(&object));
  EXPECT_EQ(UseMarks::ofThread().set(&object), marks.front());
  for (UseMark* const mark : marks) mark->clear();
  EXPECT_FALSE(isMarked(&object));
}

TEST(UseMarks, EndWithTheirThread) {
  const int object = 0;
  std::thread([&] { ASSERT_NE(UseMarks::ofThread().set(&object), nullptr); }).join();
  EXPECT_FALSE(isMarked(&object));
}

// One thread ends each object while another one marks and unmarks it: after it has ended, no thread uses it.
TEST(UseMarks, WhoEndsAnObjectSeesWhoeverIsInside) {
  struct Object {
    std::atomic<bool> alive{true};
    int visits = 0;  // by one thread at a time, also of the one who ends it
  };
  for (int repeat = 0; repeat < 300; ++repeat) {
    Object object;
    std::atomic<bool> started{false};
    std::thread visitor([&] {
      for (bool alive = true; alive;) {
        UseMark* const mark = UseMarks::ofThread().set(&object);
        alive = object.alive.load(std::memory_order_seq_cst);
        if (alive) ++object.visits;
        mark->clear();
        started.store(true, std::memory_order_relaxed);
      }
    });
    while (!started.load(std::memory_order_relaxed)) std::this_thread::yield();
    object.alive.store(false, std::memory_order_seq_cst);
    settleUseMarks();
    while (isMarked(&object)) std::this_thread::yield();
    const int seen = object.visits;
    object.visits = -1;
    visitor.join();
    EXPECT_GT(seen, 0);
    EXPECT_EQ(object.visits, -1);
  }
}

}  // namespace
}  // namespace xylem
