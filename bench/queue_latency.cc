// Speed of a queue between two cores: the one-way time of 8 bytes under each protocol, beside that of a bare
// cache line between the cores, and the bandwidth of a stream of 1 MiB messages.
//
//   queue_latency [core core]

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/transport/local/shared_memory.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRoundTrips = 2000;
constexpr int kRepeats = 15;
constexpr std::size_t kMessageBytes = 1 << 20;
constexpr int kMessages = 100;

int cores[2] = {0, 1};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Seconds that `here` takes while `there` runs on the other core; the best of several, as other programs
// disturb.
double best(const std::function<void()>& here, const std::function<void()>& there, int repeats = kRepeats) {
  double least = 1e9;
  for (int i = 0; i < repeats; ++i) {
    std::thread other([&] {
      pin(cores[1]);
      there();
    });
    pin(cores[0]);
    const auto start = Clock::now();
    here();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
    other.join();
  }
  return least;
}

struct Line {
  alignas(128) std::atomic<std::uint64_t> value{0};
};

double rawLine() {
  Line ping, pong;
  const auto here = [&] {
    const std::uint64_t first = ping.value.load();
    for (std::uint64_t i = first + 1; i <= first + kRoundTrips; ++i) {
      ping.value.store(i, std::memory_order_release);
      while (pong.value.load(std::memory_order_acquire) != i) {
      }
    }
  };
  std::uint64_t last = 0;
  const auto there = [&] {
    for (int i = 0; i < kRoundTrips; ++i) {
      ++last;
      while (ping.value.load(std::memory_order_acquire) != last) {
      }
      pong.value.store(last, std::memory_order_release);
    }
  };
  return best(here, there) / kRoundTrips / 2;
}

struct Queues {
  explicit Queues(std::size_t bufferBytes)
      : step(transport::stepBytesFor(bufferBytes)),
        memory(transport::SharedMemory::create("bench", 2 * transport::queueBytes(step))) {
    ping = transport::queueIn(memory.data(), step);
    pong = transport::queueIn(memory.data() + transport::queueBytes(step), step);
  }
  transport::StepBytes step;
  transport::SharedMemory memory;
  transport::QueueMemory ping, pong;
};

double latency(Protocol protocol) {
  Queues queues(4 << 20);
  transport::SendEnd send(1, queues.ping), answer(0, queues.pong);
  transport::RecvEnd receive(1, queues.pong), ask(0, queues.ping);
  alignas(8) std::byte out[8] = {}, in[8], copy[8];
  const auto here = [&] {
    for (int i = 0; i < kRoundTrips; ++i) {
      while (!send.send(protocol, out, 8)) {
      }
      while (!receive.take(protocol, in, 8)) {
      }
    }
  };
  const auto there = [&] {
    for (int i = 0; i < kRoundTrips; ++i) {
      while (!ask.take(protocol, copy, 8)) {
      }
      while (!answer.send(protocol, copy, 8)) {
      }
    }
  };
  return best(here, there) / kRoundTrips / 2;
}

double bandwidth(Protocol protocol) {
  Queues queues(4 << 20);
  transport::SendEnd send(1, queues.ping);
  transport::RecvEnd receive(0, queues.ping);
  std::vector<std::byte> from(kMessageBytes, std::byte{1}), to(kMessageBytes);
  const std::size_t step = queues.step[protocol];
  const auto each = [&](const std::function<bool(std::size_t at, std::size_t bytes)>& move) {
    for (int i = 0; i < kMessages; ++i)
      for (std::size_t at = 0; at < kMessageBytes; at += step)
        while (!move(at, std::min(step, kMessageBytes - at))) {
        }
  };
  const double seconds = best(
      [&] { each([&](std::size_t at, std::size_t n) { return send.send(protocol, from.data() + at, n); }); },
      [&] { each([&](std::size_t at, std::size_t n) { return receive.take(protocol, to.data() + at, n); }); },
      3);
  return static_cast<double>(kMessageBytes) * kMessages / seconds / 1e9;
}

void run() {
  const double raw = rawLine();
  std::printf("raw line  one way %6.1f ns\n", raw * 1e9);
  for (const Protocol protocol : kAllProtocols) {
    const double seconds = latency(protocol);
    std::printf("%-8s  one way %6.1f ns  %.2f x raw   %6.2f GB/s\n", name(protocol), seconds * 1e9,
                seconds / raw, bandwidth(protocol));
  }
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  if (argc == 3) {
    xylem::cores[0] = std::atoi(argv[1]);
    xylem::cores[1] = std::atoi(argv[2]);
  }
  xylem::run();
}
