#include "comparison/machine_limits.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "cli/number_text.h"
#include "comparison/combine.h"
#include "comparison/line_probe.h"
#include "comparison/mapped_limit.h"
#include "comparison/meeting.h"

namespace xylem::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCachedBytes = 256 << 10;  // of each buffer: within the second level of the caches
constexpr std::uint64_t kLargeBytes = 64 << 20;    // beyond the last
constexpr std::size_t kRepeats = 5;                // of which the median counts
constexpr double kTargetSeconds = 0.01;            // of a repeat, unless one run takes longer

// Work for one core on its own buffers. Both cores do it at the same time, or the first one alone.
struct Load {
  std::string name;
  std::uint64_t bytes;  // of a buffer
  double moved;         // buffers that are read or written
  bool both;            // cores
  std::function<void(int side, std::uint64_t bytes)> work;
};

double secondsOf(CorePair& pair, const Load& load, double target) {
  const auto run = [&](unsigned times) {
    Meeting meeting;
    double seconds[2] = {};
    pair.run([&](int side) {
      if (side == 1 && !load.both) return;
      load.work(side, load.bytes);
      if (load.both) meeting.meet(side);
      const auto begin = Clock::now();
      for (unsigned i = 0; i < times; ++i) load.work(side, load.bytes);
      seconds[side] = std::chrono::duration<double>(Clock::now() - begin).count();
    });
    return std::max(seconds[0], seconds[1]) / times;
  };
  const auto times = static_cast<unsigned>(std::clamp(target / run(1), 1.0, 1e4));
  std::array<double, kRepeats> all{};
  for (double& seconds : all) seconds = run(times);
  std::nth_element(all.begin(), all.begin() + kRepeats / 2, all.end());
  return all[kRepeats / 2];
}

// A child process with a copy of this one's memory, which does nothing.
class SleepingCopy {
 public:
  SleepingCopy() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~SleepingCopy() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  SleepingCopy(const SleepingCopy&) = delete;
  SleepingCopy& operator=(const SleepingCopy&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void readFrom(pid_t process, float* to, const float* from, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const iovec local{reinterpret_cast<char*>(to) + done, bytes - done};
    const iovec remote{const_cast<char*>(reinterpret_cast<const char*>(from)) + done, bytes - done};
    const ssize_t got = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (got <= 0) return;
    done += static_cast<std::uint64_t>(got);
  }
}

bool mayRead(pid_t process, float* to, const float* from) {
  const iovec local{to, 1}, remote{const_cast<float*>(from), 1};
  return process_vm_readv(process, &local, 1, &remote, 1, 0) == 1;
}

}  // namespace

std::vector<MachineLimit> measureMachine(CorePair& pair, bool quick) {
  const std::uint64_t large = quick ? kLargeBytes / 16 : kLargeBytes;
  std::vector<Buffer> buffers;  // three per core
  for (int i = 0; i < 6; ++i) {
    buffers.emplace_back(large);
    std::memset(buffers.back().data(), i, large);
  }
  const auto at = [&](int side, int i) { return buffers[static_cast<std::size_t>(3 * side + i)].data(); };
  const auto add = [&](Stores stores) {
    return [&at, stores](int side, std::uint64_t bytes) {
      const float* in[] = {at(side, 0), at(side, 1)};
      float* out = at(side, 2);
      combine(in, {&out, 1}, bytes / sizeof(float), stores);
      finishStreaming();
    };
  };
  const auto copy = [&](int side, std::uint64_t bytes) { std::memcpy(at(side, 1), at(side, 0), bytes); };
  const SleepingCopy other;
  const auto readOther = [&](int side, std::uint64_t bytes) {
    readFrom(other.pid(), at(side, 1), at(side, 0), bytes);
  };

  std::vector<Load> loads;
  for (const std::uint64_t bytes : {kCachedBytes, large})
    for (const bool both : {false, true}) {
      loads.push_back({"memcpy", bytes, 2, both, copy});
      loads.push_back({"add", bytes, 3, both, add(Stores::kPlain)});
      loads.push_back({"add, streaming", bytes, 3, both, add(Stores::kStreaming)});
      if (mayRead(other.pid(), at(0, 1), at(0, 0)))
        loads.push_back({"process_vm_readv", bytes, 2, both, readOther});
    }
  std::vector<MachineLimit> limits{{"cache line, one way", LineProbe(pair).measure(), "ns"}};
  for (const Load& load : loads) {
    const double moved = load.moved * static_cast<double>(load.bytes) * (load.both ? 2 : 1);
    limits.push_back({fmt::format("{}, {}, {}", load.name, cli::byteText(load.bytes),
                                  load.both ? "two cores" : "one core"),
                      moved / secondsOf(pair, load, quick ? kTargetSeconds / 10 : kTargetSeconds) / 1e9,
                      "GB/s"});
  }
  return limits;
}

}  // namespace xylem::bench
