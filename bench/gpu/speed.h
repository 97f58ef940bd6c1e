#pragma once
// Times of communicators on GPUs, beside what the GPU can do in the same run.

#include <algorithm>
#include <chrono>

#include "results.h"
#include "team.h"

__global__ void emptyKernel() {}

// Two blocks pass a number to and fro through the GPU's memory.
__global__ void pingPong(volatile unsigned* words, unsigned rounds) {
  volatile unsigned* const own = words + blockIdx.x * 64;
  volatile unsigned* const other = words + (1 - blockIdx.x) * 64;
  for (unsigned round = 1; round <= rounds; ++round) {
    if (blockIdx.x == 0) *other = round;
    while (*own != round) {
    }
    if (blockIdx.x == 1) *other = round;
  }
}

// Microseconds of one call: the median of five rounds in this rank's stream. All ranks begin together. `issuing`: the least that the
// calls themselves took on the host.
inline double timeOf(const Rank& rank, int calls, const std::function<void()>& call,
                     double* issuing = nullptr) {
  constexpr int kRounds = 5;
  cudaEvent_t begin = nullptr, end = nullptr;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  for (int i = 0; i < 2; ++i) call();
  rank.await();
  std::vector<float> times;
  for (int round = 0; round < kRounds; ++round) {
    rank.meet();
    CUDA(cudaEventRecord(begin, rank.stream));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (issuing != nullptr)
      *issuing = round == 0 ? took.count() / calls : std::min(*issuing, took.count() / calls);
    CUDA(cudaEventRecord(end, rank.stream));
    rank.await();
    float milliseconds = 0;
    CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    times.push_back(milliseconds / static_cast<float>(calls));
  }
  rank.meet();
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
  std::sort(times.begin(), times.end());
  return 1000.0 * times[kRounds / 2];
}

// The same of one rank, while the others wait.
inline double timeAlone(const Rank& rank, int calls, const std::function<void()>& call) {
  return timeOf(rank, calls, [&] {
    if (rank.rank == 0) call();
  });
}

inline void measure(Rank& rank) {
  const std::size_t most = std::size_t{1} << 30;
  const auto n = static_cast<std::size_t>(rank.ranks);
  auto* const send = deviceMemory(most);
  auto* const receive = deviceMemory(most);
  auto* const words = deviceMemory<unsigned>(128);
  CUDA(cudaMemsetAsync(send, 0, most, rank.stream));
  CUDA(cudaMemsetAsync(words, 0, 128 * sizeof(unsigned), rank.stream));
  rank.await();
  rank.meet();
  const auto say = [&](const char* format, auto... values) {
    if (rank.rank == 0) std::printf(format, values...);
    std::fflush(stdout);
  };
  const double copy = timeAlone(
      rank, 5, [&] { CUDA(cudaMemcpyAsync(receive, send, most, cudaMemcpyDeviceToDevice, rank.stream)); });
  const double bytesPerUs = 2.0 * static_cast<double>(most) / copy;
  say("copy in the GPU's memory: %.0f GB/s, read and written\n", 1e-3 * bytesPerUs);
  const double launch = timeAlone(rank, 50, [&] { emptyKernel<<<1, 1, 0, rank.stream>>>(); });
  constexpr unsigned kTrips = 1000;
  const double trips = timeAlone(rank, 1, [&] {
    CUDA(cudaMemsetAsync(words, 0, 128 * sizeof(unsigned), rank.stream));
    pingPong<<<2, 1, 0, rank.stream>>>(words, kTrips);
  });
  const double least = launch + trips / kTrips;
  say("launch of an empty kernel: %.2f us; round trip through the GPU's memory: %.2f us\n", launch,
      trips / kTrips);

  // Bytes that all ranks of the GPU must read and write at least.
  const auto row = [&](const char* name, std::size_t bytes, double touched,
                       const std::function<void()>& call) {
    double issuing = 0;
    const double time = timeOf(rank, bytes <= (1u << 20) ? 50 : 20, call, &issuing);
    say("| %-13s | %10zu | %9.1f | %7.2f | %11.2f | %10.1f |\n", name, bytes, time,
        1e-3 * static_cast<double>(bytes) / time, touched / bytesPerUs / time, issuing);
  };
  say("| operation     |      bytes |        us |    GB/s | of the copy | us to issue "
      "|\n|---|---|---|---|---|---|\n");
  for (std::size_t bytes = 1024; bytes <= most; bytes *= 16) {
    const std::size_t count = bytes / 4;
    const auto size = static_cast<double>(bytes), ranks = static_cast<double>(n);
    row("AllReduce", bytes, 2 * ranks * size,
        [&] { NCCL(ncclAllReduce(send, receive, count, ncclFloat, ncclSum, rank.comm, rank.stream)); });
    row("AllGather", bytes, (ranks + 1) * size,
        [&] { NCCL(ncclAllGather(send, receive, count / n, ncclFloat, rank.comm, rank.stream)); });
    row("ReduceScatter", bytes, (ranks + 1) * size, [&] {
      NCCL(ncclReduceScatter(send, receive, count / n, ncclFloat, ncclSum, rank.comm, rank.stream));
    });
    row("Broadcast", bytes, (ranks + 1) * size,
        [&] { NCCL(ncclBroadcast(send, receive, count, ncclFloat, 0, rank.comm, rank.stream)); });
  }
  const auto tiny = [&] {
    NCCL(ncclAllReduce(send, receive, 2, ncclFloat, ncclSum, rank.comm, rank.stream));
  };
  const double eight = timeOf(rank, 50, tiny);
  say("AllReduce of 8 bytes: %.2f us, %.2f times a launch and a round trip\n", eight, eight / least);
  constexpr int kCalls = 20;
  const cudaGraphExec_t graph = graphOf(rank, [&] {
    for (int i = 0; i < kCalls; ++i) tiny();
  });
  const double replay = timeOf(rank, 10, [&] { CUDA(cudaGraphLaunch(graph, rank.stream)); }) / kCalls;
  say("the same in a graph of %d calls: %.2f us, %.2f times\n", kCalls, replay, replay / least);
  rank.meet();
  CUDA(cudaGraphExecDestroy(graph));
  CUDA(cudaFree(send));
  CUDA(cudaFree(receive));
  CUDA(cudaFree(words));
}
