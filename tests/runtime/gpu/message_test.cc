// Messages between a block and a host, or between two blocks; and what a block reports if the other rank sends something else
// than it expects.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "core/error.h"
#include "runtime/collectives/local_job.h"
#include "runtime/collectives/transfer.h"
#include "runtime/gpu/kernel_job.h"
#include "runtime/gpu/work.h"

namespace xylem::gpu {
namespace {

using collectives::ProgramKind;
using collectives::Transfer;
using testing::blockPool;
using testing::LocalQueue;

constexpr std::size_t kStep = 240;

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256);
  return data;
}

// A queue from rank 0 to rank 1, and what blocks at its ends need.
struct Wire {
  LocalQueue queue{0, 1, kStep, false};
  std::uint64_t sent = 0, received = 0;
  std::uint32_t abort = 0;
  std::atomic<long> turns{0};  // counted down
  Report report[2];
  QueueEnd end[2];
  bool references = false;

  transport::QueueMemory memory() {
    transport::StepBytes steps{};
    for (const Protocol p : kAllProtocols) steps[p] = kStep;
    auto* const control = const_cast<transport::QueueControl*>(&queue.sender().control());
    return transport::queueIn(reinterpret_cast<std::byte*>(control), steps);
  }
  void startSend(const std::vector<std::byte>& data, Protocol protocol) {
    end[0] = endOf(memory(), protocol, 1, &sent);
    end[0].references = references;
    start({.program = ProgramKind::kSendMessage, .input = data.data(), .to = {&end[0], 1}, .refers = true},
          data.size(), protocol, 0);
  }
  void startRecv(std::vector<std::byte>& data, Protocol protocol) { startRecv(data, protocol, data.size()); }
  void startRecv(std::vector<std::byte>& data, Protocol protocol, std::size_t bytes) {
    end[1] = endOf(memory(), protocol, 0, &received);
    end[1].references = references;
    start({.program = ProgramKind::kRecvMessage, .output = data.data(), .from = {&end[1], 1}}, bytes,
          protocol, 1);
  }
  void start(WorkRequest request, std::size_t bytes, Protocol protocol, int side) {
    request.shape.count = bytes;
    request.reduction = collectives::copyOf(DataType::kInt8);
    request.protocol = protocol;
    request.abort = &abort;
    request.report = &report[side];
    testing::startBlock(workOf(request), &turns);
  }
};

void runOnHost(const collectives::TransferWork& work) {
  Transfer transfer;
  transfer.start(work);
  while (transfer.step() != device::Progress::kDone) std::this_thread::yield();
}

class Messages : public ::testing::TestWithParam<Protocol> {};

TEST_P(Messages, GoFromBlockToBlockAndBetweenBlockAndHost) {
  const Protocol protocol = GetParam();
  Wire wire;
  for (const std::size_t bytes : {1u, 4u, 7u, 8u, 119u, 121u, 240u, 241u, 5000u})
    for (const bool hostSends : {false, true})
      for (const bool hostReceives : {false, true}) {
        // The ends of one rank belong to the host or to a block for good.
        Wire own;
        const std::vector<std::byte> data = pattern(bytes);
        std::vector<std::byte> out(bytes);
        if (!hostSends) own.startSend(data, protocol);
        if (!hostReceives) own.startRecv(out, protocol);
        std::thread receiver([&] {
          if (hostReceives)
            runOnHost(
                {.from = &own.queue.receiver(), .output = out.data(), .bytes = bytes, .protocol = protocol});
        });
        if (hostSends)
          runOnHost({.to = &own.queue.sender(), .input = data.data(), .bytes = bytes, .protocol = protocol});
        receiver.join();
        blockPool().wait();
        ASSERT_EQ(out, data) << bytes << " " << hostSends << hostReceives;
      }
}

TEST_P(Messages, FollowEachOtherOnTheSameQueue) {
  Wire wire;
  std::size_t steps = 0;
  for (int i = 0; i < 20; ++i) {
    const std::size_t bytes = static_cast<std::size_t>(i) * 133;
    const std::vector<std::byte> data = pattern(bytes);
    std::vector<std::byte> out(bytes);
    wire.startSend(data, i % 2 == 0 ? GetParam() : Protocol::kSimple);
    wire.startRecv(out, i % 2 == 0 ? GetParam() : Protocol::kSimple);
    blockPool().wait();
    ASSERT_EQ(out, data);
    steps += (bytes + kStep - 1) / kStep;
    EXPECT_EQ(wire.sent, steps);
    EXPECT_EQ(wire.received, steps);
    EXPECT_EQ(wire.report[0].outcome, Outcome::kDone);
    EXPECT_EQ(wire.report[1].outcome, Outcome::kDone);
  }
}

// Wherever the blocks are in a message of many steps, and if one of them never comes.
TEST_P(Messages, EndInTheMiddleWhenTheJobIsAborted) {
  constexpr std::size_t kBehind = 64;
  const std::vector<std::byte> data = pattern(20001);
  for (const bool references : {false, true}) {
    if (references && GetParam() != Protocol::kSimple) continue;
    for (const auto& [sends, receives] :
         {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
      long whole = 4000;  // turns, for blocks that wait
      for (int moment = -1; moment < 6; ++moment) {
        if (moment < 0 && !(sends && receives))
          continue;  // the first run tells how many turns a message takes
        Wire wire;
        wire.references = references;
        std::vector<std::byte> out(data.size() + kBehind);
        const long begun = moment < 0 ? 1L << 40 : whole * moment / 6;
        wire.turns = begun;
        if (sends) wire.startSend(data, GetParam());
        if (receives) wire.startRecv(out, GetParam(), data.size());
        while (wire.turns.load() > 0 && !blockPool().waitFor(std::chrono::seconds(0)))
          std::this_thread::yield();
        __atomic_store_n(&wire.abort, 1u, __ATOMIC_RELEASE);
        ASSERT_TRUE(blockPool().waitFor(std::chrono::seconds(30))) << "moment " << moment;
        if (moment < 0) whole = begun - wire.turns;
        for (const int side : {0, 1}) {
          if (side == 0 ? !sends : !receives) continue;
          const Outcome outcome = wire.report[side].outcome;
          EXPECT_TRUE(outcome == Outcome::kDone || outcome == Outcome::kAborted) << static_cast<int>(outcome);
          EXPECT_TRUE(outcome == Outcome::kAborted || moment < 0 || (sends && receives)) << "it had nobody";
        }
        if (wire.report[1].outcome == Outcome::kDone && receives) {
          EXPECT_TRUE(std::equal(data.begin(), data.end(), out.begin()));
        }
        EXPECT_EQ(std::count(out.end() - kBehind, out.end(), std::byte{}),
                  static_cast<std::ptrdiff_t>(kBehind));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Messages, ::testing::ValuesIn(kAllProtocols),
                         [](const auto& instance) { return std::string(name(instance.param)); });

TEST(Message, ToTheRankItselfIsACopy) {
  Wire wire;
  const std::vector<std::byte> data = pattern(100001);
  std::vector<std::byte> out(data.size() + 2);
  wire.start({.program = ProgramKind::kCopyMessage, .input = data.data(), .output = out.data() + 1},
             data.size(), Protocol::kLl, 0);
  blockPool().wait();
  EXPECT_TRUE(std::equal(data.begin(), data.end(), out.begin() + 1));
  EXPECT_EQ(out.front(), std::byte{});
  EXPECT_EQ(out.back(), std::byte{});
}

// The slots stay as they are, and the sender's block ends when the receiver has the data.
TEST(Message, ByReferenceGoesIntoNoSlot) {
  Wire wire;
  wire.references = true;
  const std::vector<std::byte> data = pattern(5000);
  std::vector<std::byte> out(data.size());
  wire.startSend(data, Protocol::kSimple);
  EXPECT_FALSE(blockPool().waitFor(std::chrono::milliseconds(50)));
  wire.startRecv(out, Protocol::kSimple);
  blockPool().wait();
  EXPECT_EQ(out, data);
  const std::byte* const slots = wire.memory().simple;
  EXPECT_EQ(std::count(slots, slots + transport::kQueueSteps * kStep, std::byte{}),
            static_cast<std::ptrdiff_t>(transport::kQueueSteps * kStep));
}

TEST(Message, OfAnotherSizeIsReported) {
  Wire wire;
  const std::vector<std::byte> data = pattern(64);
  std::vector<std::byte> out(32);
  wire.startSend(data, Protocol::kSimple);
  wire.startRecv(out, Protocol::kSimple);
  blockPool().wait();
  EXPECT_EQ(wire.report[1].outcome, Outcome::kMismatch);
  EXPECT_EQ(wire.report[1].peer, 0u);
  EXPECT_EQ(wire.report[1].sentBytes, 64u);
  EXPECT_EQ(wire.report[1].expectedBytes, 32u);
  EXPECT_EQ(out, std::vector<std::byte>(32));
}

TEST(Message, ByReferenceIsReported) {
  Wire wire;
  transport::QueueControl& control = *wire.memory().control;
  control.notes[0] = {.region = 1, .bytes = 32, .address = 0};
  control.tail = 1;
  std::vector<std::byte> out(32);
  wire.startRecv(out, Protocol::kSimple);
  blockPool().wait();
  EXPECT_EQ(wire.report[1].outcome, Outcome::kUnreachable);
}

TEST(Message, FromABufferThatIsNotAlignedToItsElementsIsRefused) {
  alignas(8) std::byte data[64];
  EXPECT_NO_THROW(workOf({.input = data + 4, .output = data, .type = DataType::kFloat32}));
  try {
    workOf({.input = data + 2, .output = data, .type = DataType::kFloat32});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidArgument);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("send buffer"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("4 bytes of a float"));
  }
}

}  // namespace
}  // namespace xylem::gpu
