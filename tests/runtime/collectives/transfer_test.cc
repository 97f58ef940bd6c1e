// One rank's sends and receives over queues in memory.

#include "runtime/collectives/transfer.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/collectives/local_job.h"

namespace xylem::collectives {
namespace {

using testing::LocalQueue;

std::vector<std::byte> randomBytes(std::size_t bytes, std::mt19937& random) {
  std::vector<std::byte> made(bytes);
  for (std::byte& b : made) b = static_cast<std::byte>(random());
  return made;
}

TEST(Transfers, GoOnInAnyOrderOfTurns) {
  std::mt19937 random(47);
  LocalQueue queue(0, 1, 128, false);
  for (const Protocol protocol : kAllProtocols)
    for (const std::size_t bytes : {1, 127, 128, 5000}) {
      const std::vector<std::byte> sent = randomBytes(bytes, random);
      std::vector<std::byte> received(bytes);
      Transfer sender, receiver;
      sender.start({.to = &queue.sender(), .input = sent.data(), .bytes = bytes, .protocol = protocol});
      receiver.start(
          {.from = &queue.receiver(), .output = received.data(), .bytes = bytes, .protocol = protocol});
      EXPECT_EQ(receiver.step(), device::Progress::kWouldBlock);
      EXPECT_EQ(receiver.waitsFor(), 0);
      bool sending = true, receiving = true;
      for (int i = 0; i < 10000 && (sending || receiving); ++i)
        if (random() % 2 == 0)
          sending = sending && sender.step() != device::Progress::kDone;
        else
          receiving = receiving && receiver.step() != device::Progress::kDone;
      ASSERT_FALSE(sending || receiving);
      ASSERT_EQ(received, sent);
    }
}

TEST(Transfers, WaitForAReaderWhoHasNoRoom) {
  std::mt19937 random(5);
  LocalQueue queue(0, 1, 128, false);
  const std::vector<std::byte> sent = randomBytes(100 * 128, random);
  Transfer sender;
  sender.start({.to = &queue.sender(), .input = sent.data(), .bytes = sent.size()});
  EXPECT_EQ(sender.step(), device::Progress::kAdvanced);
  EXPECT_EQ(sender.step(), device::Progress::kWouldBlock);
  EXPECT_EQ(sender.waitsFor(), 1);
}

TEST(Transfers, ToOneselfAreCopiesThatGiveOthersTheirTurn) {
  std::mt19937 random(6);
  const std::vector<std::byte> sent = randomBytes((std::size_t{5} << 20) / 2 + 1, random);
  std::vector<std::byte> received(sent.size());
  Transfer self;
  self.start({.input = sent.data(), .output = received.data(), .bytes = sent.size()});
  EXPECT_EQ(self.waitsFor(), -1);
  EXPECT_EQ(self.step(), device::Progress::kAdvanced);
  EXPECT_EQ(self.step(), device::Progress::kAdvanced);
  EXPECT_EQ(self.step(), device::Progress::kDone);
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace xylem::collectives
