#pragma once
// The ranks of an exchange on one host in one thread, which steps them in any order.
//
//   ExchangeJob job(3, Reach::kNone);
//   for (int rank = 0; rank < 3; ++rank) job[rank].start(works[rank]);
//   EXPECT_THAT(job.finish(seed), Each(DirectExchange::Outcome::kDone));

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/collectives/direct_exchange.h"

namespace xylem::testing {

// Other ranks can map the buffers of a rank, read them through the kernel, or do neither.
enum class Reach { kAll, kRead, kNone };

class HereMemory final : public transport::PeerMemory {
 public:
  explicit HereMemory(Reach reach) : reach_(reach) {}
  bool locate(const std::byte*, std::size_t, bool, transport::StepNote&) override { return false; }
  const std::byte* reach(const transport::StepNote&) override { return nullptr; }
  // All ranks are in this process, so a copy stands for the kernel's.
  bool peerReads() const override { return reach_ != Reach::kNone; }
  void read(const transport::StepNote& note, std::byte* out) override {
    ++reads;
    whileRead();
    std::memcpy(out, reinterpret_cast<const void*>(note.address), note.bytes);
  }
  bool write(std::uint64_t address, const std::byte* data, std::size_t bytes) override {
    ++writes;
    whileRead();
    std::memcpy(reinterpret_cast<void*>(address), data, bytes);
    return true;
  }
  std::byte* at(const transport::BufferPlace& place, std::size_t) override {
    return reach_ == Reach::kAll ? reinterpret_cast<std::byte*>(place.address) : nullptr;
  }

  std::atomic<int> reads{0}, writes{0};  // calls of read() and write()
  std::function<void()> whileRead = [] {};

 private:
  Reach reach_;
};

class ExchangeJob {
 public:
  explicit ExchangeJob(int ranks, Reach reach = Reach::kAll, bool oversubscribed = false,
                       const transport::CopyChoices& choices = {},
                       const collectives::SharedWork& shared = collectives::SharedWork())
      : memory_(reach) {
    for (int rank = 0; rank < ranks; ++rank) boards_.push_back(std::make_unique<transport::Mailbox>());
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<collectives::DirectPeer> peers;
      for (int peer = 0; peer < ranks; ++peer)
        peers.push_back({boards_[static_cast<std::size_t>(peer)].get(), &memory_});
      exchanges_.push_back(std::make_unique<collectives::DirectExchange>(
          rank, *boards_[static_cast<std::size_t>(rank)], std::move(peers), reach == Reach::kAll,
          oversubscribed, choices,
          [this](std::string_view what, const transport::WayChange& change) {
            changes_.push_back(transport::changeText(what, change));
          },
          shared,
          [this, rank] {
            ++clockReads_;
            return now_(rank);
          }));
    }
  }
  int ranks() const { return static_cast<int>(exchanges_.size()); }
  // How often a rank has read another one's memory through the kernel.
  int reads() const { return memory_.reads; }
  // How often a rank has written into another one's memory through the kernel.
  int writes() const { return memory_.writes; }
  // How often a rank has read the clock.
  int clockReads() const { return clockReads_; }
  // Called while a rank reads another one's memory so.
  void whileRead(std::function<void()> call) { memory_.whileRead = std::move(call); }
  // From now on, operations take this long by each rank's clock: those that read, and others.
  void useTimes(std::chrono::nanoseconds read, std::chrono::nanoseconds other) {
    now_ = [this, read, other, seen = std::vector<int>(exchanges_.size(), reads()),
            times = std::vector<std::chrono::steady_clock::time_point>(exchanges_.size())](int rank) mutable {
      const auto r = static_cast<std::size_t>(rank);
      return times[r] += std::exchange(seen[r], reads()) == reads() ? other : read;
    };
  }
  // From now on, a line that another rank has written takes this long by each rank's clock, if nothing else is timed.
  void useLines(std::chrono::nanoseconds line) {
    now_ = [line, calls = std::vector<int>(exchanges_.size()),
            times = std::vector<std::chrono::steady_clock::time_point>(exchanges_.size())](int rank) mutable {
      const auto r = static_cast<std::size_t>(rank);
      return times[r] += calls[r]++ % 2 == 0 ? std::chrono::microseconds(1) : line;
    };
  }
  // From now on, operations on mapped buffers take this long by each rank's clock: those that stream results, and others.
  void useStreamingTimes(std::chrono::nanoseconds streaming, std::chrono::nanoseconds other) {
    now_ = [this, streaming, other,
            times = std::vector<std::chrono::steady_clock::time_point>(exchanges_.size())](int rank) mutable {
      const auto r = static_cast<std::size_t>(rank);
      return times[r] += exchanges_[r]->streams() ? streaming : other;
    };
  }
  // The log lines of ranks about ways that changed.
  const std::vector<std::string>& changes() const { return changes_; }
  transport::Mailbox& mailbox(int rank) { return *boards_[static_cast<std::size_t>(rank)]; }
  collectives::DirectExchange& operator[](int rank) { return *exchanges_[static_cast<std::size_t>(rank)]; }

  // Steps all ranks in random order until each is done or has declined.
  std::vector<collectives::DirectExchange::Outcome> finish(unsigned seed) {
    using Outcome = collectives::DirectExchange::Outcome;
    std::mt19937 random(seed);
    std::vector<collectives::DirectExchange::Outcome> outcomes(exchanges_.size(), Outcome::kWouldBlock);
    for (std::size_t left = exchanges_.size(), tries = 0; left > 0 && tries < 100000; ++tries) {
      const std::size_t rank = random() % exchanges_.size();
      Outcome& outcome = outcomes[rank];
      if (outcome == Outcome::kDone || outcome == Outcome::kDeclined) continue;
      outcome = exchanges_[rank]->step();
      if (outcome == Outcome::kDone || outcome == Outcome::kDeclined) --left;
    }
    return outcomes;
  }

 private:
  HereMemory memory_;
  std::function<std::chrono::steady_clock::time_point(int rank)> now_ = [](int) {
    return std::chrono::steady_clock::now();
  };
  int clockReads_ = 0;
  std::vector<std::string> changes_;
  std::vector<std::unique_ptr<transport::Mailbox>> boards_;
  std::vector<std::unique_ptr<collectives::DirectExchange>> exchanges_;
};

// The sum over all ranks of what is in `data`, in place.
inline collectives::DirectWork sumOf(std::vector<std::int64_t>& data, int ranks) {
  collectives::DirectWork work;
  work.input = reinterpret_cast<const std::byte*>(data.data());
  work.output = reinterpret_cast<std::byte*>(data.data());
  work.count = data.size();
  work.type = DataType::kInt64;
  work.reduction = collectives::chooseReduction(DataType::kInt64, ReduceOp::kSum, ranks);
  return work;
}

// By rank.
using Buffers = std::vector<std::vector<std::int64_t>>;

// The ranks have numbers that differ.
inline Buffers buffersOf(int ranks, std::size_t count) {
  Buffers buffers;
  for (int rank = 0; rank < ranks; ++rank) {
    buffers.emplace_back(count);
    std::iota(buffers.back().begin(), buffers.back().end(), 100000 * rank);
  }
  return buffers;
}

}  // namespace xylem::testing
