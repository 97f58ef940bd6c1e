// Speed of handing data from one core to another through memory that both write and read in turn, as ranks of a host do that stage data, for
// each Handover: microseconds per message, one way and both ways at the same time.
//
//   handover_speed [--json]
//
// One thread copies messages in, in pieces of up to 32 KiB, which lie one behind the other in a ring of 2 MiB; the other one copies them out.
// Both ways, each thread copies a whole message in, up to 256 KiB of it at once, and then one out. Medians of several turns, in which the three
// take turns. The first line tells how far the cores are from each other: the time of a line that the other one has written, with that of
// reading the clock, before and after. If it has changed, the state of a shared machine has.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "core/copying.h"
#include "runtime/device/core_pair.h"
#include "runtime/device/host_device.h"
#include "runtime/device/waiting.h"
#include "runtime/transport/choices/core_distance.h"
#include "runtime/transport/local/shared_memory.h"

namespace xylem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKiB = 1024, kRing = 2048 * kKiB, kMost = 4096 * kKiB;
constexpr std::size_t kSizes[] = {1 * kKiB,  2 * kKiB,   4 * kKiB,   8 * kKiB,    16 * kKiB,  32 * kKiB,
                                  64 * kKiB, 128 * kKiB, 256 * kKiB, 1024 * kKiB, 4096 * kKiB};
constexpr int kTurns = 7;
constexpr std::size_t kTurnBytes = std::size_t{32} << 20;
constexpr std::uint64_t kAhead = 32;  // pieces
constexpr std::array kHandovers = {Handover::kNearCache, Handover::kFarCache, Handover::kMemory};
constexpr const char* kNames[] = {"near cache", "far cache", "memory"};

// Written by one side, and read by the other one.
struct alignas(4096) Shared {
  alignas(4096) std::atomic<std::uint64_t> posted{0};
  alignas(4096) std::atomic<std::uint64_t> left{0};
  alignas(4096) std::atomic<std::uint32_t> beat{0};
};

void await(const std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  while (counter.load(std::memory_order_acquire) < value) device::pauseProcessor();
}

class Pair {
 public:
  explicit Pair(const device::CorePair& cores) : cores_(cores) {
    for (int side = 0; side < 2; ++side) rings_.push_back(transport::SharedMemory::create("handover", kRing));
  }

  double line() {
    std::vector<double> times;
    both([&](int side) {
      transport::BeatProbe probe;
      for (std::uint32_t i = 1; i <= 101; ++i) {
        if (side == 1) {
          shared_[1].beat.store(i, std::memory_order_release);
          shared_[1].posted.store(i, std::memory_order_release);
          await(shared_[0].posted, i);
          continue;
        }
        await(shared_[1].posted, i);
        if (const auto time = probe.load(shared_[1].beat))
          times.push_back(static_cast<double>(time->count()));
        shared_[0].posted.store(i, std::memory_order_release);
      }
    });
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times.empty() ? 0 : times[times.size() / 2];
  }

  double oneWay(std::size_t bytes, Handover handover) {
    const std::size_t piece = std::min(bytes, 32 * kKiB), pieces = bytes / piece;
    const auto messages = std::max<std::size_t>(4, std::min<std::size_t>(2000, kTurnBytes / bytes));
    const Clock::duration took = both([&](int side) {
      std::uint64_t number = 0;
      for (std::size_t message = 0; message < messages; ++message)
        for (std::size_t i = 0; i < pieces; ++i, ++number) {
          std::byte* const slot = rings_[0].data() + number * piece % kRing;
          if (side == 0) {
            if (number >= kAhead) await(shared_[1].left, number - kAhead + 1);
            copyToCore(slot, input(0) + i * piece, piece, handover);
            shared_[0].posted.store(number + 1, std::memory_order_release);
          } else {
            await(shared_[0].posted, number + 1);
            copyFromCore(output(1) + i * piece, slot, piece, handover);
            shared_[1].left.store(number + 1, std::memory_order_release);
          }
        }
    });
    return std::chrono::duration<double, std::micro>(took).count() / static_cast<double>(messages);
  }

  double bothWays(std::size_t bytes, Handover handover) {
    const std::size_t piece = std::min(bytes, 256 * kKiB), pieces = bytes / piece;
    const auto messages = std::max<std::size_t>(4, std::min<std::size_t>(2000, kTurnBytes / bytes));
    const Clock::duration took = both([&](int side) {
      const auto mine = static_cast<std::size_t>(side), theirs = 1 - mine;
      std::uint64_t number = 0;
      for (std::size_t message = 0; message < messages; ++message)
        for (std::size_t i = 0; i < pieces; ++i, ++number) {
          const std::size_t at = number * piece % kRing;
          copyToCore(rings_[mine].data() + at, input(side) + i * piece, piece, handover);
          shared_[mine].posted.store(number + 1, std::memory_order_release);
          await(shared_[theirs].posted, number + 1);
          copyFromCore(output(side) + i * piece, rings_[theirs].data() + at, piece, handover);
        }
    });
    return std::chrono::duration<double, std::micro>(took).count() / static_cast<double>(messages);
  }

 private:
  // Returns the time of side 1, which gets all data that goes one way.
  Clock::duration both(const std::function<void(int side)>& work) {
    for (Shared& shared : shared_) shared.posted = shared.left = shared.beat = 0;
    std::atomic<int> ready{0};
    Clock::duration took{};
    const auto run = [&](int side) {
      const device::OnCore here(side == 0 ? cores_.first : cores_.second);
      ++ready;
      while (ready < 2) device::pauseProcessor();
      const Clock::time_point begin = Clock::now();
      work(side);
      if (side == 1) took = Clock::now() - begin;
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    return took;
  }
  std::byte* input(int side) { return buffers_[static_cast<std::size_t>(side)].data(); }
  std::byte* output(int side) { return buffers_[2 + static_cast<std::size_t>(side)].data(); }

  const device::CorePair cores_;
  std::vector<transport::SharedMemory> rings_;
  std::array<Shared, 2> shared_;
  std::vector<std::vector<std::byte>> buffers_{4, std::vector<std::byte>(kMost)};
};

double median(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int run(bool json) {
  const auto cores = device::corePair(device::coreSet(), device::coreSet());
  if (!cores) {
    std::fputs("handover_speed: this process may run on one core only\n", stderr);
    return 1;
  }
  auto pair = std::make_unique<Pair>(*cores);
  const double before = pair->line();
  nlohmann::json rows = nlohmann::json::array();
  for (const std::size_t bytes : kSizes) {
    nlohmann::json row{{"bytes", bytes}};
    for (const bool one : {true, false}) {
      std::array<std::vector<double>, kHandovers.size()> times;
      for (int turn = 0; turn < kTurns; ++turn)
        for (std::size_t i = 0; i < kHandovers.size(); ++i)
          times[i].push_back(one ? pair->oneWay(bytes, kHandovers[i]) : pair->bothWays(bytes, kHandovers[i]));
      for (std::size_t i = 0; i < kHandovers.size(); ++i)
        row[one ? "one way" : "both ways"][kNames[i]] = median(times[i]);
    }
    rows.push_back(row);
  }
  const double after = pair->line();
  if (json) {
    std::puts(nlohmann::json{{"processor", device::processorText()},
                             {"cores", {cores->first, cores->second}},
                             {"line_ns", {before, after}},
                             {"rows", rows}}
                  .dump(2)
                  .c_str());
    return 0;
  }
  std::printf("%s; cores %d and %d; a line takes %.0f ns before, %.0f after\n\n",
              device::processorText().c_str(), cores->first, cores->second, before, after);
  std::printf("%9s  %-35s  %s\n%9s", "", "one way, us", "both ways, us", "KiB");
  for (int i = 0; i < 2; ++i)
    for (const char* const name : kNames) std::printf("  %10s", name);
  std::puts("");
  for (const auto& row : rows) {
    std::printf("%9zu", row["bytes"].get<std::size_t>() / kKiB);
    for (const char* const way : {"one way", "both ways"})
      for (const char* const name : kNames) std::printf("  %10.2f", row[way][name].get<double>());
    std::puts("");
  }
  return 0;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  const bool json = argc == 2 && std::string_view(argv[1]) == "--json";
  if (argc > 1 && !json) {
    std::fputs("Usage: handover_speed [--json]\n", stderr);
    return 2;
  }
  return xylem::run(json);
}
