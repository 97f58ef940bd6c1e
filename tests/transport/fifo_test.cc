#include "transport/fifo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace xylem {
namespace {

constexpr std::size_t kSlot = 128;

struct TestFifo {
  FifoControl control{};
  std::vector<std::byte> slots = std::vector<std::byte>(kFifoSlots * kSlot);
  FifoMemory memory() { return {&control, slots.data(), kSlot}; }
};

TEST(Fifo, IsEmptyAtFirstAndHoldsAsManySlotsAsItHas) {
  TestFifo fifo;
  FifoWriter writer(fifo.memory());
  FifoReader reader(fifo.memory());
  EXPECT_FALSE(reader.ready());
  for (std::uint64_t i = 0; i < kFifoSlots; ++i) {
    ASSERT_TRUE(writer.ready());
    std::memcpy(writer.slot(), &i, sizeof i);
    writer.push();
  }
  EXPECT_FALSE(writer.ready());
  for (std::uint64_t i = 0; i < kFifoSlots; ++i) {
    ASSERT_TRUE(reader.ready());
    std::uint64_t seen = 99;
    std::memcpy(&seen, reader.slot(), sizeof seen);
    EXPECT_EQ(seen, i);
    reader.pop();
    EXPECT_TRUE(writer.ready());
  }
  EXPECT_FALSE(reader.ready());
}

TEST(Fifo, NewEndsTakeUpWhereTheCountersAre) {
  TestFifo fifo;
  {
    FifoWriter writer(fifo.memory());
    writer.push();
  }
  FifoReader reader(fifo.memory());
  EXPECT_TRUE(reader.ready());
  reader.pop();
  FifoWriter writer(fifo.memory());
  EXPECT_TRUE(writer.ready());
  FifoReader again(fifo.memory());
  EXPECT_FALSE(again.ready());
}

TEST(Fifo, CarriesEverythingInOrderBetweenThreads) {
  constexpr std::uint64_t kMessages = 20000;
  TestFifo fifo;
  std::thread sender([&] {
    FifoWriter writer(fifo.memory());
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      while (!writer.ready()) std::this_thread::yield();
      const std::uint64_t values[2] = {i, ~i};
      std::memcpy(writer.slot(), values, sizeof values);
      writer.push();
    }
  });
  FifoReader reader(fifo.memory());
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    while (!reader.ready()) std::this_thread::yield();
    std::uint64_t values[2];
    std::memcpy(values, reader.slot(), sizeof values);
    wrong += values[0] != i || values[1] != ~i;
    reader.pop();
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(Fifo, CountersHaveLinesOfTheirOwn) {
  FifoControl control{};
  const auto* tail = reinterpret_cast<const std::byte*>(&control.tail);
  const auto* head = reinterpret_cast<const std::byte*>(&control.head);
  EXPECT_GE(head - tail, 128);
}

}  // namespace
}  // namespace xylem
