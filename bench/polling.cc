// The cost of asking in a loop whether an AllReduce is done, beside waiting for it: two ranks as processes, the
// median of the rounds, in microseconds.
//
//   polling [ROUNDS]
//
// Programs wait in six ways: cudaStreamSynchronize, `while (cudaStreamQuery(s) == cudaErrorNotReady);`,
// cudaEventSynchronize, the same loop around cudaEventQuery; and with a host function after the AllReduce that sets a
// flag, cudaStreamSynchronize and a loop on the flag.
// The last line is ncclCommFinalize of a communicator that does not block, polled by ncclCommGetAsyncError.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "cuda_runtime.h"
#include "nccl.h"

namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void must(int result, const char* what) {
  if (result == 0) return;
  fmt::print(stderr, "polling: {} failed with {}\n", what, result);
  std::exit(1);
}

enum Way { kStreamWait, kStreamPoll, kEventWait, kEventPoll, kFunctionWait, kFlagPoll };
constexpr std::array kWays{kStreamWait, kStreamPoll, kEventWait, kEventPoll, kFunctionWait, kFlagPoll};

class Rank {
 public:
  Rank(const ncclUniqueId& id, int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t started = ncclCommInitRankConfig(&comm_, 2, id, rank, &config);
    if (started != ncclInProgress) must(started, "ncclCommInitRankConfig");
    poll("joining");
    must(cudaMalloc(&data_, kMaxBytes), "cudaMalloc");
    must(cudaMemset(data_, 0, kMaxBytes), "cudaMemset");
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    must(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }

  double time(std::size_t bytes, Way way, int rounds) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
      const auto start = Clock::now();
      must(ncclAllReduce(data_, data_, bytes / sizeof(float), ncclFloat, ncclSum, comm_, stream_),
           "ncclAllReduce");
      finish(way);
      times.push_back(microsecondsSince(start));
    }
    return median(times);
  }

  double finalize() {
    const auto start = Clock::now();
    const ncclResult_t started = ncclCommFinalize(comm_);
    if (started != ncclInProgress) must(started, "ncclCommFinalize");
    poll("finalizing");
    return microsecondsSince(start);
  }

  static constexpr std::size_t kMaxBytes = 16 << 20;

 private:
  void poll(const char* what) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) must(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
    must(state, what);
  }
  void finish(Way way) {
    if (way == kStreamWait) return must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    if (way == kFunctionWait || way == kFlagPoll) {
      flag_.store(false);
      const auto set = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
      must(cudaLaunchHostFunc(stream_, set, &flag_), "cudaLaunchHostFunc");
      if (way == kFunctionWait) return must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      while (!flag_.load(std::memory_order_acquire)) {
      }
      return;
    }
    if (way == kEventWait || way == kEventPoll) must(cudaEventRecord(event_, stream_), "cudaEventRecord");
    if (way == kEventWait) return must(cudaEventSynchronize(event_), "cudaEventSynchronize");
    cudaError_t state = cudaErrorNotReady;
    while (state == cudaErrorNotReady)
      state = way == kStreamPoll ? cudaStreamQuery(stream_) : cudaEventQuery(event_);
    must(state, "a query");
  }

  ncclComm_t comm_ = nullptr;
  float* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::atomic<bool> flag_{false};
};

void measure(const ncclUniqueId& id, int number, int rounds) {
  Rank rank(id, number);
  if (number == 0)
    fmt::print("{:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "bytes", "stream", "polled", "event",
               "polled", "function", "flag");
  for (const std::size_t bytes : {8u, 4096u, 65536u, 1u << 20, 16u << 20}) {
    const int count = bytes > 65536 ? std::max(5, rounds / 10) : rounds;
    std::array<double, kWays.size()> times{};
    for (const Way way : kWays) times[way] = rank.time(bytes, way, count);
    if (number == 0) fmt::print("{:>10} {:>10.2f}\n", bytes, fmt::join(times, " "));
  }
  const double last = rank.finalize();
  if (number == 0) fmt::print("finalize, polled: {:.2f}\n", last);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  int ids[2];
  must(pipe(ids), "pipe");
  const pid_t other = fork();  // before the library has threads
  ncclUniqueId id;
  if (other == 0) {
    must(read(ids[0], &id, sizeof id) == sizeof id ? 0 : 1, "read");
    measure(id, 1, rounds);
    std::_Exit(0);
  }
  must(ncclGetUniqueId(&id), "ncclGetUniqueId");
  must(write(ids[1], &id, sizeof id) == sizeof id ? 0 : 1, "write");
  measure(id, 0, rounds);
  int status = 0;
  waitpid(other, &status, 0);
  return status;
}
