// Blocks of fibers behave as blocks of a GPU: barriers, votes, and order.

#include "runtime/gpu/fiber_block.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/gpu/cpu_machine.h"

namespace xylem::testing {
namespace {

struct Shared {
  std::vector<int> values;
  int sum = 0;
  int votes = 0;
};

template <typename Body>
void run(FiberBlock& block, Shared& shared, Body body) {
  block.start([&](FiberBlock& b, int thread) { body(b, thread, shared); });
  while (!block.resume()) {
  }
}

TEST(FiberBlocks, ABarrierShowsWhatAllThreadsWroteBefore) {
  FiberBlock block(3);
  for (int round = 0; round < 3; ++round) {
    Shared shared{std::vector<int>(24), 0, 0};
    run(block, shared, [](FiberBlock& b, int thread, Shared& s) {
      CpuMachine m(b, thread, nullptr);
      for (int i = 0; i < 10; ++i) {
        s.values[static_cast<std::size_t>(thread)] += i;
        m.sync(0, m.threads());
        if (thread == i)
          for (const int v : s.values) s.sum += v;
        m.sync(0, m.threads());
      }
    });
    // 0, 0 + 1, 0 + 1 + 2, ... of each of 24 threads.
    EXPECT_EQ(shared.sum, 24 * 165);
  }
}

TEST(FiberBlocks, AThreadThatOnlyArrivesDoesNotWait) {
  FiberBlock block(2);
  Shared shared;
  run(block, shared, [](FiberBlock& b, int thread, Shared& s) {
    CpuMachine m(b, thread, nullptr);
    if (thread < CpuMachine::kLanes) {
      if (thread == 0) s.sum = 5;
      m.arrive(1, 16);
    } else {
      m.sync(1, 16);
      if (thread == 15) s.votes = s.sum;
    }
  });
  EXPECT_EQ(shared.votes, 5);
}

TEST(FiberBlocks, VotesAreOfTheThreadsOfAWarp) {
  FiberBlock block(2);
  Shared shared{std::vector<int>(16), 0, 0};
  run(block, shared, [](FiberBlock& b, int thread, Shared& s) {
    CpuMachine m(b, thread, nullptr);
    int& mine = s.values[static_cast<std::size_t>(thread)];
    for (int i = 0; i < 5; ++i) {
      if (m.any(thread == 3)) mine += 1;
      if (m.all(thread != 3)) mine += 100;
      if (thread % 3 == 0) m.pause();
    }
  });
  for (int i = 0; i < 16; ++i) EXPECT_EQ(shared.values[static_cast<std::size_t>(i)], i < 8 ? 5 : 500) << i;
}

}  // namespace
}  // namespace xylem::testing
