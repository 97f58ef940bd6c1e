// Tests of the two ends of a queue, in the memory of one process.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "ranks.h"
#include "runtime/transport/queue/copy_claims.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"
#include "support/patience.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class OwnedQueue {
 public:
  explicit OwnedQueue(std::size_t bufferBytes, std::uint64_t firstStep = 0, Slots slots = Slots::kNarrow) {
    const StepBytes step = stepBytesFor(bufferBytes);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, queueBytes(step, slots))));
    std::memset(memory_.get(), 0, queueBytes(step, slots));
    queue = queueIn(memory_.get(), step, slots);
    if (firstStep != 0) startAt(queue, firstStep);
  }
  QueueMemory queue;

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

// Both sides draw the same steps.
struct Step {
  Protocol protocol;
  std::size_t bytes;
  bool inPlace;  // reserve and commit, peek and release; else send and take
};
Step randomStep(std::mt19937& random, const StepBytes& max) {
  Step step{};
  step.protocol = kAllProtocols[random() % 3];
  // Small steps, odd ones and the largest.
  const std::size_t limit = random() % 2 == 0 ? 64 : max[step.protocol];
  step.bytes = random() % 8 == 0 ? max[step.protocol] : random() % (std::min(limit, max[step.protocol]) + 1);
  step.inPlace = random() % 2 == 0;
  return step;
}

bool sendStep(SendEnd& end, const Step& step, const std::vector<std::byte>& data) {
  if (!step.inPlace) return end.send(step.protocol, data.data(), step.bytes);
  std::byte* slot = end.reserve(step.protocol);
  if (slot == nullptr) return false;
  EXPECT_EQ(end.reserve(step.protocol), slot);
  if (step.bytes > 0) std::memcpy(slot, data.data(), step.bytes);
  end.commit(step.protocol, step.bytes);
  return true;
}
bool takeStep(RecvEnd& end, const Step& step, std::vector<std::byte>& data) {
  data.resize(step.bytes + 1);  // never null
  if (step.inPlace) {
    const std::byte* there = end.peek(step.protocol, step.bytes);
    if (there == nullptr) return false;
    EXPECT_EQ(end.peek(step.protocol, step.bytes), there);
    if (step.bytes > 0) std::memcpy(data.data(), there, step.bytes);
    end.release(step.protocol);
  } else if (!end.take(step.protocol, data.data(), step.bytes)) {
    return false;
  }
  data.resize(step.bytes);
  return true;
}

void runBothEnds(const QueueMemory& queue, int steps) {
  std::thread writer([&] {
    SendEnd end(1, queue);
    std::mt19937 random(7);
    for (int i = 0; i < steps; ++i) {
      const Step step = randomStep(random, queue.stepBytes);
      const std::vector<std::byte> data = pattern(step.bytes, static_cast<std::uint64_t>(i));
      for (testing::Patience patience; !sendStep(end, step, data);) patience.pause();
    }
  });
  RecvEnd end(0, queue);
  std::mt19937 random(7);
  std::vector<std::byte> data;
  int wrong = 0;
  for (int i = 0; i < steps; ++i) {
    const Step step = randomStep(random, queue.stepBytes);
    for (testing::Patience patience; !takeStep(end, step, data);) patience.pause();
    wrong += data != pattern(step.bytes, static_cast<std::uint64_t>(i));
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Queue, StepSizes) {
  for (const std::size_t buffer : {0u, 1u, 1000u, 8192u, 65536u, 1u << 20, 4u << 20, 1u << 30}) {
    const StepBytes step = stepBytesFor(buffer);
    EXPECT_EQ(step[Protocol::kSimple] % 128, 0u);
    EXPECT_EQ(step[Protocol::kLl128] % 120, 0u);
    EXPECT_EQ(step[Protocol::kLl] % 8, 0u);
    for (const Protocol protocol : kAllProtocols) {
      EXPECT_GT(step[protocol], 0u);
      EXPECT_LE(step[protocol], step[Protocol::kSimple]);
    }
  }
  EXPECT_EQ(stepBytesFor(64 << 10)[Protocol::kSimple], 8u << 10);
  EXPECT_EQ(stepBytesFor(4 << 20)[Protocol::kSimple], 128u << 10);
  EXPECT_EQ(stepBytesFor(4 << 20)[Protocol::kLl], 16u << 10);
  EXPECT_EQ(netStepBytesFor(64 << 10)[Protocol::kSimple], 8u << 10);
  EXPECT_EQ(netStepBytesFor(4 << 20)[Protocol::kSimple], 256u << 10);
  EXPECT_EQ(netStepBytesFor(4 << 20)[Protocol::kLl], 16u << 10);
}

TEST(Queue, SlotsDoNotOverlap) {
  OwnedQueue owned(100000);
  const QueueMemory& q = owned.queue;
  EXPECT_GE(q.simple, reinterpret_cast<std::byte*>(q.control + 1));
  EXPECT_GE(q.ll, q.simple + kQueueSteps * q.stepBytes[Protocol::kSimple]);
  EXPECT_GE(q.ll128, q.ll + kQueueSteps * llSlotBytes(q.stepBytes));
  EXPECT_LE(q.ll128 + kQueueSteps * ll128SlotBytes(q.stepBytes),
            reinterpret_cast<std::byte*>(q.control) + queueBytes(q.stepBytes));
}

TEST(Queue, CarriesAMixOfProtocolsBetweenTwoThreads) {
  OwnedQueue narrow(64 << 10), wide(200000, 0, Slots::kWide);
  runBothEnds(narrow.queue, 4000);
  runBothEnds(wide.queue, 1000);
}

// The peer cannot read memory of this process.
class OtherMemory : public PeerMemory {
 public:
  bool locate(const std::byte*, std::size_t, bool, StepNote&) override { return false; }
  const std::byte* reach(const StepNote&) override { return nullptr; }
  void read(const StepNote&, std::byte*) override {}
};

// The receiver tells with each message what it has found of the distance, and with the next one the sender does as told. Each piece brings the
// receiver a line whose time tells the distance.
TEST(Queue, TheSenderHandsMessagesOverAsTheReceiverTells) {
  class Telling final : public OtherMemory {
   public:
    Hears hearsOf(std::uint64_t) const override { return Hears::kMessage; }
    std::uint32_t received(std::uint64_t, bool read, std::optional<std::chrono::nanoseconds>,
                           std::optional<std::chrono::nanoseconds> line) override {
      EXPECT_FALSE(read);
      lines += line.has_value();
      return ++tells;
    }
    Handover handoverTo(std::uint32_t told) const override {
      asked.push_back(told);
      return Handover::kMemory;
    }
    Handover handoverFrom() const override { return Handover::kMemory; }
    int lines = 0;
    std::uint32_t tells = 0;
    mutable std::vector<std::uint32_t> asked;
  };
  for (const std::size_t bytes : {std::size_t{1024}, std::size_t{65536}, std::size_t{300000}}) {
    OwnedQueue owned(1 << 20);
    Telling memory;
    SendEnd sender(1, owned.queue, &memory);
    RecvEnd receiver(0, owned.queue, &memory);
    const std::vector<std::byte> data = pattern(bytes, 1);
    std::vector<std::byte> out(bytes);
    constexpr std::uint32_t kMessages = 400;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece =
            sender.sendPiece(Protocol::kSimple, data.data() + done, bytes - done, bytes);
        ASSERT_EQ(receiver.takePiece(Protocol::kSimple, out.data() + done, bytes - done), piece);
        done += piece;
      }
      ASSERT_EQ(out, data);
      receiver.received(bytes, std::nullopt);
    }
    ASSERT_EQ(memory.asked.size(), kMessages);
    for (std::uint32_t i = 0; i < kMessages; ++i) EXPECT_EQ(memory.asked[i], i);
    // One after every 128 KiB at most, and after each message that is longer.
    EXPECT_EQ(memory.lines,
              static_cast<int>(kMessages / std::max<std::size_t>(1, ((128 << 10) + bytes - 1) / bytes)));
  }
  // Less than a KiB has no time to lose.
  OwnedQueue owned(1 << 20);
  Telling memory;
  SendEnd sender(1, owned.queue, &memory);
  std::byte data[1023] = {};
  EXPECT_EQ(sender.sendPiece(Protocol::kSimple, data, sizeof data, sizeof data), sizeof data);
  EXPECT_TRUE(memory.asked.empty());
  EXPECT_EQ(owned.queue.control->beat, 0u);
}

// A receiver judges ways (MessageWays) without the first messages in each part of the memory.
TEST(Queue, TheTimeOfAMessageInNewMemoryDoesNotCount) {
  class Timing final : public OtherMemory {
   public:
    std::uint32_t received(std::uint64_t, bool, std::optional<std::chrono::nanoseconds> time,
                           std::optional<std::chrono::nanoseconds>) override {
      times += time.has_value();
      return 0;
    }
    int times = 0;
  };
  // How many of 200 messages count.
  const auto counted = [](const QueueMemory& queue, std::initializer_list<std::size_t> sizes) {
    Timing memory;
    SendEnd sender(1, queue, &memory);
    RecvEnd receiver(0, queue, &memory);
    std::vector<int> counted;
    for (const std::size_t bytes : sizes) {
      const std::vector<std::byte> data(bytes);
      std::vector<std::byte> out(bytes);
      memory.times = 0;
      for (int i = 0; i < 200; ++i) {
        for (std::size_t done = 0; done < bytes;) {
          const std::size_t piece =
              sender.sendPiece(Protocol::kSimple, data.data() + done, bytes - done, bytes);
          EXPECT_EQ(receiver.takePiece(Protocol::kSimple, out.data() + done, bytes - done), piece);
          done += piece;
        }
        receiver.received(bytes, std::chrono::nanoseconds(100));
      }
      counted.push_back(memory.times);
    }
    return counted;
  };
  OwnedQueue narrow(1 << 20), wide(1 << 20, 0, Slots::kWide);
  ASSERT_EQ(narrow.queue.slotBytes, std::size_t{128} << 10);
  ASSERT_EQ(wide.queue.slotBytes, std::size_t{256} << 10);
  // Each of eight slots, up to 16 KiB and then beyond that.
  EXPECT_EQ(counted(narrow.queue, {16384, 100000, 16384, 131072}), (std::vector{192, 192, 200, 192}));
  // 16 places of 16 KiB in each slot, and all has been used then.
  EXPECT_EQ(counted(wide.queue, {16384, 100000, 200000}), (std::vector{200 - 128, 200, 200}));
}

// Messages of one size go through all of a wide slot before the first place is written again.
TEST(Queue, MessagesOfOneStepLieInOtherPlacesOfAWideSlotInEachLap) {
  OwnedQueue owned(1 << 20, 0, Slots::kWide);
  const QueueMemory& queue = owned.queue;
  ASSERT_EQ(queue.slotBytes, 2 * queue.stepBytes[Protocol::kSimple]);
  OtherMemory memory;
  SendEnd sender(1, queue, &memory);
  RecvEnd receiver(0, queue);
  // Returns where it lay, in the memory of all slots.
  const auto pass = [&](std::size_t bytes) {
    const std::vector<std::byte> data = pattern(bytes, sender.nextStep());
    EXPECT_EQ(sender.sendPiece(Protocol::kSimple, data.data(), bytes, bytes), bytes);
    const std::byte* const there = receiver.peek(Protocol::kSimple, bytes);
    EXPECT_EQ(std::memcmp(there, data.data(), bytes), 0);
    const auto at = static_cast<std::size_t>(there - queue.simple);
    receiver.release(Protocol::kSimple);
    return at;
  };
  for (const std::size_t bytes : {2500u, 5000u, 60000u, 131072u}) {
    const std::size_t span = std::bit_ceil(bytes), places = queue.slotBytes / span;
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < places * kQueueSteps; ++i) seen.insert(pass(bytes));
    EXPECT_EQ(seen.size(), places * kQueueSteps) << bytes;
    EXPECT_LE(*seen.rbegin() + bytes, kQueueSteps * queue.slotBytes);
  }
  for (std::uint64_t i = 0; i < 3 * kQueueSteps; ++i)
    EXPECT_EQ(pass(2048), i % kQueueSteps * queue.slotBytes);
  // The second step of a longer message.
  const std::vector<std::byte> data = pattern(200000, 1);
  for (const std::size_t left : {200000u, 200000u - 131072u}) {
    const std::size_t bytes = sender.sendPiece(Protocol::kSimple, data.data(), left, 200000);
    ASSERT_EQ(bytes, std::min(left, queue.stepBytes[Protocol::kSimple]));
    EXPECT_EQ(receiver.peek(Protocol::kSimple, bytes),
              queue.simple + (sender.nextStep() - 1) % kQueueSteps * queue.slotBytes);
    receiver.release(Protocol::kSimple);
  }
}

TEST(Queue, APayloadOutsideItsWideSlotIsRefused) {
  OwnedQueue owned(8192, 0, Slots::kWide);
  SendEnd sender(1, owned.queue);
  RecvEnd receiver(3, owned.queue);
  std::byte data[16] = {};
  ASSERT_TRUE(sender.send(Protocol::kSimple, data, 16));
  owned.queue.control->notes[0].address = owned.queue.slotBytes - 15;
  EXPECT_THAT([&] { receiver.peek(Protocol::kSimple, 16); },
              ThrowsMessage<Error>(HasSubstr("rank 3 sent 16 bytes at offset 2033 of a slot of 2048 bytes")));
  owned.queue.control->notes[0].address = owned.queue.slotBytes - 16;
  EXPECT_NE(receiver.peek(Protocol::kSimple, 16), nullptr);
}

TEST(Queue, IsFullAfterEightSteps) {
  for (const Protocol protocol : kAllProtocols) {
    OwnedQueue owned(8192);
    SendEnd sender(1, owned.queue);
    RecvEnd receiver(0, owned.queue);
    std::uint64_t value = 0, out = 0;
    const auto send = [&] {
      const bool sent = sender.send(protocol, reinterpret_cast<const std::byte*>(&value), sizeof value);
      value += sent;
      return sent;
    };
    for (std::uint64_t i = 0; i < kQueueSteps; ++i) EXPECT_TRUE(send());
    EXPECT_FALSE(send());
    EXPECT_EQ(sender.reserve(protocol), nullptr);
    ASSERT_TRUE(receiver.take(protocol, reinterpret_cast<std::byte*>(&out), sizeof out));
    EXPECT_EQ(out, 0u);
    EXPECT_TRUE(send());
    EXPECT_FALSE(send());
    for (std::uint64_t i = 1; i <= kQueueSteps; ++i) {
      ASSERT_TRUE(receiver.take(protocol, reinterpret_cast<std::byte*>(&out), sizeof out));
      EXPECT_EQ(out, i);
    }
    EXPECT_FALSE(receiver.take(protocol, reinterpret_cast<std::byte*>(&out), sizeof out));
    EXPECT_EQ(receiver.peek(protocol, sizeof out), nullptr);
    EXPECT_TRUE(sender.drained());
  }
}

TEST(Queue, AShorterStepLeavesNothingThatALaterLongerOneMistakes) {
  for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128}) {
    OwnedQueue owned(64 << 10);
    SendEnd sender(1, owned.queue);
    RecvEnd receiver(0, owned.queue);
    for (int i = 0; i < 64; ++i) {
      const std::size_t bytes = i / 8 % 2 == 0 ? 1000 : 8;
      const std::vector<std::byte> data = pattern(bytes, static_cast<std::uint64_t>(i));
      std::vector<std::byte> out(bytes);
      EXPECT_EQ(receiver.peek(protocol, bytes), nullptr);
      ASSERT_TRUE(sender.send(protocol, data.data(), bytes));
      ASSERT_TRUE(receiver.take(protocol, out.data(), bytes));
      EXPECT_EQ(out, data);
    }
  }
}

// A word keeps its flag until a later step is long enough to overwrite it; the same flag comes again 2^32
// steps later.
TEST(Queue, FlagsComeAgainWithoutBeingMistaken) {
  for (const std::uint64_t wrap : {kLlEpoch, 2 * kLlEpoch, 3 * kLlEpoch, 1024 * kLlEpoch}) {
    OwnedQueue owned(64 << 10, wrap - 20);
    SendEnd sender(1, owned.queue);
    RecvEnd receiver(0, owned.queue);
    for (int i = 0; i < 60; ++i) {
      const std::size_t bytes = i % 3 == 0 ? 4000 : 12;
      const std::vector<std::byte> data = pattern(bytes, static_cast<std::uint64_t>(i));
      std::vector<std::byte> out(bytes);
      EXPECT_EQ(receiver.peek(Protocol::kLl, bytes), nullptr);
      ASSERT_TRUE(sender.send(Protocol::kLl, data.data(), bytes));
      ASSERT_TRUE(receiver.take(Protocol::kLl, out.data(), bytes));
      EXPECT_EQ(out, data);
    }
  }
}

// True if all LL words of the slot of `step` are as cleared for it.
bool isCleared(const QueueMemory& queue, std::uint64_t step) {
  const std::size_t words = llSlotBytes(queue.stepBytes) / kLlWordBytes;
  const std::byte* slot = queue.ll + step % kQueueSteps * words * kLlWordBytes;
  for (std::size_t i = 0; i < words; ++i)
    if (llWord(slot, i).load() != llCleared(step)) return false;
  return true;
}

// Under any protocol, as the reader may already be reading words of the next step.
TEST(Queue, EachSlotIsClearedAtItsFirstStepOfAnEpoch) {
  OwnedQueue owned(64 << 10, kLlEpoch - 2);
  SendEnd sender(1, owned.queue);
  RecvEnd receiver(0, owned.queue);
  std::uint64_t value = 1;
  auto* data = reinterpret_cast<std::byte*>(&value);
  ASSERT_TRUE(sender.send(Protocol::kLl, data, 8));
  ASSERT_TRUE(sender.send(Protocol::kSimple, data, 8));
  // The reader reads nothing, and the writer goes on all the same until the queue is full.
  for (std::uint64_t step = kLlEpoch; step < kLlEpoch + 6; ++step) {
    EXPECT_FALSE(isCleared(owned.queue, step));
    ASSERT_TRUE(sender.send(Protocol::kSimple, data, 8));
    EXPECT_TRUE(isCleared(owned.queue, step));
  }
  EXPECT_FALSE(sender.send(Protocol::kSimple, data, 8));
  EXPECT_FALSE(isCleared(owned.queue, kLlEpoch + 6)) << "it holds what the reader has not read";
  ASSERT_TRUE(receiver.take(Protocol::kLl, data, 8));
  EXPECT_EQ(value, 1u);
  ASSERT_TRUE(sender.send(Protocol::kSimple, data, 8));
  EXPECT_TRUE(isCleared(owned.queue, kLlEpoch + 6));
  // The last one, and no other slot is cleared again.
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(receiver.take(Protocol::kSimple, data, 8));
  ASSERT_TRUE(sender.send(Protocol::kSimple, data, 8));
  EXPECT_TRUE(isCleared(owned.queue, kLlEpoch + 7));
  ASSERT_TRUE(sender.send(Protocol::kSimple, data, 8));
  EXPECT_FALSE(isCleared(owned.queue, kLlEpoch + 8));
}

TEST(Queue, RunsAcrossTheWrapBetweenTwoThreads) {
  OwnedQueue owned(32 << 10, 2 * kLlEpoch - 500);
  runBothEnds(owned.queue, 1000);
}

TEST(Queue, SaysWhenTheOtherSideSendsAnotherNumberOfBytes) {
  OwnedQueue owned(8192);
  SendEnd sender(1, owned.queue);
  RecvEnd receiver(3, owned.queue);
  std::byte data[16] = {};
  ASSERT_TRUE(sender.send(Protocol::kSimple, data, 16));
  try {
    receiver.peek(Protocol::kSimple, 8);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_THAT(error.what(), HasSubstr("rank 3 sent 16 bytes where this rank expects 8"));
  }
}

// Carries nothing, as both ends use the same memory. Counts its calls.
class CountingPump : public Pump {
 public:
  bool pump() noexcept override {
    ++calls;
    return false;
  }
  int calls = 0;
};

TEST(Queue, WithAPumpAllProtocolsLieInSlots) {
  OwnedQueue owned(64 << 10);
  CountingPump out, in;
  SendEnd sender(1, owned.queue, nullptr, &out);
  RecvEnd receiver(0, owned.queue, nullptr, &in);
  for (const Protocol protocol : kAllProtocols) {
    const std::size_t bytes = sender.stepBytes(protocol);
    const std::vector<std::byte> data = pattern(bytes, 5);
    in.calls = out.calls = 0;
    EXPECT_EQ(receiver.peek(protocol, bytes), nullptr);
    EXPECT_EQ(in.calls, 1);
    const std::uint64_t step = owned.queue.control->tail.load();
    ASSERT_TRUE(sender.send(protocol, data.data(), bytes));
    EXPECT_EQ(out.calls, 1);
    EXPECT_EQ(owned.queue.control->tail.load(), step + 1);
    EXPECT_EQ(owned.queue.control->notes[step % kQueueSteps].bytes, bytes);
    const std::byte* there = receiver.peek(protocol, bytes);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(std::memcmp(there, data.data(), bytes), 0);
    receiver.release(protocol);
  }
}

// The peer's memory is ours. `direct`: the reader may read it in place; otherwise it must copy.
class SameMemory : public PeerMemory {
 public:
  std::function<void()> whileRead = [] {};  // while it copies
  explicit SameMemory(bool direct) : direct_(direct) {}
  bool locate(const std::byte* data, std::size_t, bool, StepNote& note) override {
    note.region = 1;
    note.address = reinterpret_cast<std::uintptr_t>(data);
    return true;
  }
  const std::byte* reach(const StepNote& note) override {
    return direct_ ? reinterpret_cast<const std::byte*>(note.address) : nullptr;
  }
  void read(const StepNote& note, std::byte* out) override {
    std::memcpy(out, reinterpret_cast<const std::byte*>(note.address), note.bytes);
    whileRead();
  }
  bool offer(std::byte* out, std::size_t, bool throughKernel, BufferPlace& place) override {
    EXPECT_TRUE(throughKernel);
    place = {BufferPlace::kAddress, reinterpret_cast<std::uintptr_t>(out)};
    return true;
  }
  std::byte* at(const BufferPlace& place, std::size_t bytes) override {
    if (!direct_) return nullptr;
    whileWritten();
    written += bytes;
    return reinterpret_cast<std::byte*>(place.address);
  }
  bool write(std::uint64_t address, const std::byte* data, std::size_t bytes) override {
    whileWritten();
    if (refuses) return false;
    std::memcpy(reinterpret_cast<std::byte*>(address), data, bytes);
    written += bytes;
    return true;
  }
  std::function<void()> whileWritten = [] {};
  bool refuses = false;
  std::atomic<std::size_t> written{0};  // bytes

 private:
  bool direct_;
};

TEST(Queue, SharesByReferenceAndSaysWhenThePeerIsThrough) {
  for (const bool direct : {true, false}) {
    OwnedQueue owned(1 << 20);
    SameMemory memory(direct);
    SendEnd sender(1, owned.queue, &memory);
    RecvEnd receiver(0, owned.queue, &memory);
    const std::vector<std::byte> data = pattern(32 << 10, 1);
    EXPECT_TRUE(sender.drained());
    ASSERT_TRUE(sender.share(Protocol::kSimple, data.data(), data.size()));
    ASSERT_TRUE(sender.share(Protocol::kSimple, data.data(), data.size()));
    ASSERT_TRUE(sender.send(Protocol::kSimple, data.data(), data.size()));
    EXPECT_FALSE(sender.drained());
    const std::byte* there = receiver.peek(Protocol::kSimple, data.size());
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(there == data.data(), direct);
    EXPECT_EQ(std::memcmp(there, data.data(), data.size()), 0);
    EXPECT_EQ(receiver.peek(Protocol::kSimple, data.size()), there);
    receiver.release(Protocol::kSimple);
    EXPECT_FALSE(sender.drained());
    std::vector<std::byte> out(data.size());
    ASSERT_TRUE(receiver.take(Protocol::kSimple, out.data(), out.size()));
    EXPECT_EQ(out, data);
    EXPECT_TRUE(sender.drained());  // the third was copied
  }
}

// The writer withdraws before the reader begins to read, or while it reads.
TEST(Queue, AWriterThatWithdrawsIsReadNoMoreAndKnowsWhoStillReads) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(true);
  SendEnd sender(1, owned.queue, &memory);
  RecvEnd receiver(0, owned.queue, &memory);
  const std::vector<std::byte> data = pattern(32 << 10, 1);
  std::vector<std::byte> out(data.size());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sender.share(Protocol::kSimple, data.data(), data.size()));
  ASSERT_TRUE(receiver.take(Protocol::kSimple, out.data(), out.size()));
  EXPECT_FALSE(sender.beingRead());
  ASSERT_NE(receiver.peek(Protocol::kSimple, data.size()), nullptr);
  EXPECT_TRUE(sender.beingRead());
  sender.withdraw();
  EXPECT_TRUE(sender.beingRead());
  receiver.endRead();
  EXPECT_FALSE(sender.beingRead());
  EXPECT_EQ(receiver.peek(Protocol::kSimple, data.size()), nullptr);
  EXPECT_FALSE(receiver.take(Protocol::kSimple, out.data(), out.size()));
  EXPECT_FALSE(sender.beingRead());
}

// The reader may have been stopped in the middle, for longer than the writer waits.
TEST(Queue, WhatWasReadWhileTheWriterWithdrewIsNotTaken) {
  for (const bool peeks : {true, false}) {
    OwnedQueue owned(1 << 20);
    SameMemory memory(false);
    SendEnd sender(1, owned.queue, &memory);
    RecvEnd receiver(0, owned.queue, &memory);
    memory.whileRead = [&] { sender.withdraw(); };
    const std::vector<std::byte> data = pattern(32 << 10, 1);
    std::vector<std::byte> out(data.size());
    ASSERT_TRUE(sender.share(Protocol::kSimple, data.data(), data.size()));
    if (peeks)
      EXPECT_EQ(receiver.peek(Protocol::kSimple, data.size()), nullptr);
    else
      EXPECT_FALSE(receiver.take(Protocol::kSimple, out.data(), out.size()));
    EXPECT_FALSE(sender.beingRead());
    EXPECT_FALSE(sender.drained());
  }
}

// A message that the writer shares, in one piece, and what it becomes.
struct SharedMessage {
  SharedMessage(SendEnd& sender, std::size_t bytes, std::uint64_t seed, bool helps = true)
      : data(pattern(bytes, seed)), out(bytes) {
    EXPECT_EQ(sender.sendPiece(Protocol::kSimple, data.data(), bytes, bytes, helps), bytes);
  }
  std::size_t take(RecvEnd& receiver) {
    const std::size_t bytes = receiver.takePiece(Protocol::kSimple, out.data() + taken, out.size() - taken);
    taken += bytes;
    return bytes;
  }
  const std::vector<std::byte> data;
  std::vector<std::byte> out;
  std::size_t taken = 0;
};

class BothEnds : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Mapped, BothEnds, ::testing::Bool());

TEST_P(BothEnds, CopyALongMessageThatTheWriterHelpsWith) {
  for (const std::size_t bytes : {std::size_t{128} << 10, std::size_t{300001}, std::size_t{5000000}}) {
    OwnedQueue owned(1 << 20);
    SameMemory memory(GetParam());
    SendEnd sender(1, owned.queue, &memory);
    RecvEnd receiver(0, owned.queue, &memory);
    for (std::uint64_t round = 0; round < 3; ++round) {
      SharedMessage message(sender, bytes, round);
      EXPECT_EQ(sender.help(), 0u);  // nothing is offered yet
      EXPECT_GE(message.take(receiver), bytes / 2);
      // The reader's next turn comes while the writer copies its last part.
      memory.whileWritten = [&] {
        while (message.taken < bytes && message.take(receiver) > 0) {
        }
        EXPECT_LT(message.taken, bytes);
      };
      memory.written = 0;
      EXPECT_FALSE(sender.drained());
      EXPECT_GT(sender.help(), 0u);
      while (message.taken < bytes) EXPECT_GT(message.take(receiver), 0u);
      EXPECT_EQ(message.out, message.data);
      EXPECT_TRUE(sender.drained());
      EXPECT_EQ(sender.help(), 0u);
      EXPECT_GT(memory.written, 0u);
    }
  }
}

TEST(Queue, TheReaderCopiesAloneWhatIsShortOrWhatTheWriterDoesNotHelpWith) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(false);
  SendEnd sender(1, owned.queue, &memory);
  RecvEnd receiver(0, owned.queue, &memory);
  constexpr std::size_t kLittle = (128 << 10) - 1, kMuch = 1 << 20;
  for (const auto& [bytes, helps] : {std::pair{kLittle, true}, std::pair{kMuch, false}}) {
    SharedMessage message(sender, bytes, 1, helps);
    EXPECT_EQ(message.take(receiver), bytes);
    EXPECT_EQ(sender.help(), 0u);
    EXPECT_EQ(message.out, message.data);
  }
}

// Two threads copy what an end copies.
class TwoThreads final : public CopySharing {
 public:
  std::size_t threads() const override { return 2; }
  void share(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& copy) const override {
    std::thread second([&] { copy(bytes / 3, bytes); });
    copy(0, bytes / 3);
    second.join();
  }
};

TEST_P(BothEnds, CopyAtTheSameTime) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(GetParam());
  const TwoThreads two;
  constexpr std::uint64_t kMessages = 40;
  const auto bytesOf = [](std::uint64_t i) { return std::size_t{100000} + i * i * 1009; };
  std::thread writer([&] {
    SendEnd sender(1, owned.queue, &memory);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const SharedMessage message(sender, bytesOf(i), i);
      for (testing::Patience patience; !sender.drained();)
        if (sender.help(i % 2 == 0 ? nullptr : &two) == 0) patience.pause();
    }
  });
  RecvEnd receiver(0, owned.queue, &memory);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    std::vector<std::byte> out(bytesOf(i));
    std::size_t taken = 0;
    for (testing::Patience patience; taken < out.size();) {
      const std::size_t bytes = receiver.takePiece(Protocol::kSimple, out.data() + taken, out.size() - taken,
                                                   i % 3 == 0 ? &two : nullptr);
      taken += bytes;
      if (bytes == 0) patience.pause();
    }
    EXPECT_EQ(out, pattern(out.size(), i)) << i;
  }
  writer.join();
}

// The kernel may let the reader read, but not the writer write.
TEST(Queue, AWriterWhoseCopyIsRefusedLeavesAllToTheReader) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(false);
  SendEnd sender(1, owned.queue, &memory);
  RecvEnd receiver(0, owned.queue, &memory);
  constexpr std::size_t kBytes = 1 << 20;
  for (const bool refuses : {true, false}) {  // a message whose output can be written comes later
    memory.refuses = refuses;
    SharedMessage message(sender, kBytes, 1);
    EXPECT_EQ(message.take(receiver), kBytes / 2);
    EXPECT_GT(sender.help(), 0u);
    EXPECT_EQ(memory.written > 0, !refuses);
    while (message.taken < kBytes) ASSERT_GT(message.take(receiver), 0u);
    EXPECT_EQ(message.out, message.data);
    EXPECT_TRUE(sender.drained());
  }
}

TEST(Queue, AReaderThatWithdrawsIsWrittenToNoMoreAndKnowsWhoStillWrites) {
  constexpr std::size_t kBytes = 2 << 20;
  for (const bool before : {true, false}) {
    OwnedQueue owned(1 << 20);
    SameMemory memory(false);
    SendEnd sender(1, owned.queue, &memory);
    RecvEnd receiver(0, owned.queue, &memory);
    SharedMessage message(sender, kBytes, 1);
    EXPECT_GT(message.take(receiver), 0u);
    EXPECT_FALSE(receiver.beingWritten());
    bool seen = false;
    memory.whileWritten = [&] {
      receiver.withdraw();
      seen = receiver.beingWritten();
    };
    if (before) receiver.withdraw();
    EXPECT_EQ(sender.help() == 0, before);
    EXPECT_EQ(seen, !before);
    EXPECT_FALSE(receiver.beingWritten());
    EXPECT_EQ(sender.help(), 0u);
    // Nor is another message offered.
    while (message.taken < kBytes) ASSERT_GT(message.take(receiver), 0u);
    SharedMessage next(sender, kBytes, 2);
    EXPECT_EQ(next.take(receiver), kBytes);
    EXPECT_EQ(sender.help(), 0u);
  }
}

TEST(Queue, AWriterThatCannotGoOnLeavesTheReadersMemory) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(false);
  SendEnd sender(1, owned.queue, &memory);
  RecvEnd receiver(0, owned.queue, &memory);
  SharedMessage message(sender, 1 << 20, 1);
  EXPECT_GT(message.take(receiver), 0u);
  memory.whileWritten = [] { throw Error(ResultCode::kRemoteError, "its process has ended"); };
  EXPECT_THROW(sender.help(), Error);
  EXPECT_FALSE(receiver.beingWritten());
}

// Pieces of a message that are shared one after the other; each is as long as one may be, but for the last.
TEST_P(BothEnds, CopyEachOfSeveralPieces) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(GetParam());
  SendEnd sender(1, owned.queue, &memory);
  RecvEnd receiver(0, owned.queue, &memory);
  SharedMessage first(sender, 1 << 20, 1), second(sender, 2 << 20, 2);
  for (SharedMessage* message : {&first, &second}) {
    memory.written = 0;
    EXPECT_GT(message->take(receiver), 0u);
    EXPECT_FALSE(sender.drained());
    EXPECT_GT(sender.help(), 0u);
    while (message->taken < message->out.size()) ASSERT_GT(message->take(receiver), 0u);
    EXPECT_EQ(message->out, message->data);
    EXPECT_GT(memory.written, 0u);
  }
  EXPECT_TRUE(sender.drained());
}

// Two ends in any order take each byte once.
TEST(CopyClaims, AreForEachByteOnce) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::atomic<std::uint64_t> word{0};
    CopyClaims claims(word);
    const std::uint64_t step = random() % 3 == 0 ? 0xffffffff : random();
    const std::size_t most = CopyClaims::kUnit << random() % 8;
    const std::size_t bytes =
        round == 0 ? kMaxPieceBytes : std::size_t{128 << 10} + random() % (std::size_t{20} << 20);
    EXPECT_FALSE(claims.isOffered(step + 1));
    const auto first = claims.offer(step, bytes, most);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->begin, 0u);
    EXPECT_TRUE(claims.isOffered(step));
    EXPECT_EQ(claims.takeBack(step + 1, bytes, most).bytes, 0u);
    std::size_t front = first->bytes, back = bytes;
    while (front < back) {
      const bool writes = random() % 2 == 0;
      const CopyClaims::Part part =
          writes ? claims.takeBack(step, bytes, most) : claims.takeFront(bytes, most);
      ASSERT_GT(part.bytes, 0u);
      ASSERT_LE(part.bytes, std::max(most, 4 * CopyClaims::kUnit));
      ASSERT_EQ(writes ? part.begin + part.bytes : part.begin, writes ? back : front);
      (writes ? back : front) = writes ? part.begin : part.begin + part.bytes;
    }
    EXPECT_EQ(front, back);
    EXPECT_EQ(claims.takeFront(bytes, most).bytes, 0u);
    EXPECT_EQ(claims.takeBack(step, bytes, most).bytes, 0u);
    EXPECT_EQ(claims.writersUnits(), CopyClaims::unitsOf(bytes - back));
    claims.end();
    EXPECT_FALSE(claims.isOffered(step));
    EXPECT_EQ(claims.takeBack(step, 2 * bytes, most).bytes, 0u);
  }
}

// A faulty peer may write anything there.
TEST(CopyClaims, AreInsideOfThePayloadWhateverTheWordSays) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 10000; ++round) {
    const std::uint64_t step = random() % 4, faulty = random() & ~(std::uint64_t{1} << 31);
    std::atomic<std::uint64_t> word{
        round % 2 == 0 ? faulty : std::uint64_t{1} << 63 | step << 32 | (faulty & 0xfffffff)};
    const std::size_t bytes = 1 + random() % (std::size_t{1} << (17 + random() % 14));
    CopyClaims claims(word);
    for (const CopyClaims::Part part :
         {claims.takeBack(step, bytes, 1 << 20), claims.takeFront(bytes, 1 << 20)}) {
      EXPECT_LE(part.begin, bytes);
      EXPECT_LE(part.bytes, bytes - part.begin);
    }
  }
}

TEST(CopyClaims, OfAClosedWordAreNone) {
  std::atomic<std::uint64_t> word{0};
  CopyClaims claims(word);
  ASSERT_TRUE(claims.offer(7, 1 << 20, 1 << 20));
  claims.close();
  EXPECT_FALSE(claims.isOffered(7));
  EXPECT_EQ(claims.takeBack(7, 1 << 20, 1 << 20).bytes, 0u);
  EXPECT_FALSE(claims.offer(8, 1 << 20, 1 << 20));
  EXPECT_GT(claims.takeFront(1 << 20, 1 << 20).bytes, 0u);  // the reader goes on alone
}

TEST(Queue, LittleIsCopiedEvenWhenShared) {
  OwnedQueue owned(1 << 20);
  SameMemory memory(true);
  SendEnd sender(1, owned.queue, &memory);
  const std::vector<std::byte> data = pattern(SendEnd::kMinSharedBytes - 1, 1);
  ASSERT_TRUE(sender.share(Protocol::kSimple, data.data(), data.size()));
  EXPECT_TRUE(sender.drained());
}

}  // namespace
}  // namespace xylem::transport
