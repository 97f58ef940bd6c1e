// Two measurements with two ranks as threads, each on a core of its own: the time that groups save, and how
// far an AllReduce proceeds while its caller computes.
//
//   overlap [ROUNDS]
//
// Aggregation: 100 AllReduces of 1 KiB, each in a call of its own, and all in one group; microseconds.
// Overlap: rank 0 issues an AllReduce of 16 MiB, computes on the first core as long as that AllReduce takes
// on the second one alone, and waits for it; rank 1 only waits. The last number is the part of either time
// that was saved: 100 % if both together take as long as one.

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "cuda_runtime.h"
#include "nccl.h"

namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void pinTo(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

void must(int result, const char* what) {
  if (result == 0) return;
  fmt::print(stderr, "overlap: {} failed with {}\n", what, result);
  std::exit(1);
}

// Computes without touching memory.
double compute(double microseconds) {
  double value = 1;
  for (const auto start = Clock::now(); microsecondsSince(start) < microseconds;)
    for (int i = 0; i < 1000; ++i) value = value * 1.0000001 + 1e-9;
  return value;
}

class Rank {
 public:
  Rank(const ncclUniqueId& id, int rank) : rank_(rank) {
    must(cudaSetDevice(rank), "cudaSetDevice");
    must(ncclCommInitRank(&comm_, 2, id, rank), "ncclCommInitRank");
    must(cudaStreamCreate(&stream_), "cudaStreamCreate");
    must(cudaMalloc(reinterpret_cast<void**>(&buffer_), 2 * kLong), "cudaMalloc");
  }
  ~Rank() {
    ncclCommDestroy(comm_);
    cudaFree(buffer_);
  }

  void run(int rounds) {
    smallOnes(false);  // starts the library's threads before this one is bound to a core
    pinTo(rank_);
    std::vector<double> single, grouped, alone, together;
    for (int i = 0; i < 20 * rounds; ++i) {
      single.push_back(timed([&] { smallOnes(false); }));
      grouped.push_back(timed([&] { smallOnes(true); }));
    }
    for (int i = 0; i < rounds; ++i) {
      pinTo(1);
      alone.push_back(timed([&] { longOne(0); }));
      pinTo(rank_);
      const double share = median(alone);
      together.push_back(timed([&] { longOne(rank_ == 0 ? share : 0); }));
    }
    if (rank_ != 0) return;
    const double t = median(alone), both = median(together);
    fmt::print("100 AllReduces of 1 KiB: one by one {:.1f} us, in a group {:.1f} us: {:.2f} of it\n",
               median(single), median(grouped), median(grouped) / median(single));
    fmt::print(
        "AllReduce of 16 MiB: on one core {:.0f} us, beside as much computation {:.0f} us: {:.0f} % "
        "overlap\n",
        t, both, 100 * (2 * t - both) / t);
  }

 private:
  static constexpr std::size_t kShort = 1 << 10, kLong = std::size_t{16} << 20;
  static constexpr int kCalls = 100;

  template <typename Work>
  double timed(Work&& work) {
    // A barrier: the ranks begin together.
    must(ncclAllReduce(buffer_, buffer_, 1, ncclFloat, ncclMax, comm_, stream_), "ncclAllReduce");
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    const auto start = Clock::now();
    work();
    return microsecondsSince(start);
  }

  void smallOnes(bool group) {
    if (group) must(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < kCalls; ++i) {
      char* const at = buffer_ + static_cast<std::size_t>(i) * kShort;
      must(ncclAllReduce(at, at + kLong, kShort / 4, ncclFloat, ncclSum, comm_, stream_), "ncclAllReduce");
      if (!group) must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }
    if (group) must(ncclGroupEnd(), "ncclGroupEnd");
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  void longOne(double computing) {
    must(ncclAllReduce(buffer_, buffer_ + kLong, kLong / 4, ncclFloat, ncclSum, comm_, stream_),
         "ncclAllReduce");
    if (computing > 0) sink_ = compute(computing);
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  int rank_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  char* buffer_ = nullptr;
  volatile double sink_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  if (rounds < 1) {
    fmt::print(stderr, "usage: overlap [ROUNDS]\n");
    return 2;
  }
  ncclUniqueId id;
  must(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const auto run = [&](int rank) { Rank(id, rank).run(rounds); };
  std::thread other(run, 1);
  std::thread first(run, 0);
  first.join();
  other.join();
}
