// Ranks as threads on GPUs, through NVIDIA's runtime and Xylem under NCCL's name. tools/gpu_check compiles and runs it.
//
//   gpu_ranks check RANKS       # results of collectives, sends and receives, and of a graph, against sums that are exact
//   gpu_ranks measure RANKS     # times, beside what the GPU's memory can do in the same run
//
// Ranks are dealt out to the GPUs in turn; several on one need NCCL_MULTI_RANK_GPU_ENABLE=1.

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define REQUIRE(CALL, OK, TEXT)                                                              \
  do {                                                                                       \
    const auto status = (CALL);                                                              \
    if (status != (OK)) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #CALL, (TEXT));            \
      std::_Exit(1);                                                                         \
    }                                                                                        \
  } while (false)
#define CUDA(CALL) REQUIRE(CALL, cudaSuccess, cudaGetErrorString(status))
#define NCCL(CALL) REQUIRE(CALL, ncclSuccess, ncclGetLastError(nullptr))

struct Rank {
  int rank = 0, ranks = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;

  template <typename T>
  T* memory(std::size_t count) const {
    void* data = nullptr;
    CUDA(cudaMalloc(&data, count * sizeof(T)));
    return static_cast<T*>(data);
  }
  void await() const { CUDA(cudaStreamSynchronize(stream)); }
};

void runRanks(int ranks, const std::function<void(const Rank&)>& body) {
  int gpus = 0;
  CUDA(cudaGetDeviceCount(&gpus));
  ncclUniqueId id;
  NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      CUDA(cudaSetDevice(rank % gpus));
      Rank mine{rank, ranks, nullptr, nullptr};
      CUDA(cudaStreamCreateWithFlags(&mine.stream, cudaStreamNonBlocking));
      NCCL(ncclCommInitRank(&mine.comm, ranks, id, rank));
      body(mine);
      mine.await();
      NCCL(ncclCommDestroy(mine.comm));
    });
  for (std::thread& thread : threads) thread.join();
}

// Small whole numbers, whose sums are exact in every type.
int valueOf(int rank, std::size_t i) { return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 3) % 11); }

template <typename T>
void expect(const Rank& rank, const char* what, const std::vector<T>& got, const std::function<double(std::size_t)>& right) {
  for (std::size_t i = 0; i < got.size(); ++i)
    if (static_cast<double>(got[i]) != right(i)) {
      std::fprintf(stderr, "%s of %zu elements: rank %d has %g at %zu; %g is right\n", what, got.size(), rank.rank,
                   static_cast<double>(got[i]), i, right(i));
      std::_Exit(1);
    }
}

template <typename T>
void checkType(const Rank& rank, ncclDataType_t type, std::size_t count) {
  const auto n = static_cast<std::size_t>(rank.ranks), me = static_cast<std::size_t>(rank.rank);
  T* const send = rank.memory<T>(count * n);
  T* const receive = rank.memory<T>(count * n);
  std::vector<T> host(count * n);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<T>(valueOf(rank.rank, i));
  CUDA(cudaMemcpy(send, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  const auto sum = [&](std::size_t i) {
    double all = 0;
    for (int r = 0; r < rank.ranks; ++r) all += valueOf(r, i);
    return all;
  };
  const auto take = [&](std::size_t elements) {
    std::vector<T> got(elements);
    CUDA(cudaMemcpyAsync(got.data(), receive, elements * sizeof(T), cudaMemcpyDeviceToHost, rank.stream));
    rank.await();
    return got;
  };
  NCCL(ncclAllReduce(send, receive, count, type, ncclSum, rank.comm, rank.stream));
  expect<T>(rank, "AllReduce", take(count), sum);
  NCCL(ncclReduceScatter(send, receive, count, type, ncclSum, rank.comm, rank.stream));
  expect<T>(rank, "ReduceScatter", take(count), [&](std::size_t i) { return sum(me * count + i); });
  NCCL(ncclAllGather(send, receive, count, type, rank.comm, rank.stream));
  expect<T>(rank, "AllGather", take(count * n),
            [&](std::size_t i) { return valueOf(static_cast<int>(i / count), i % count); });
  NCCL(ncclBroadcast(send, receive, count, type, rank.ranks - 1, rank.comm, rank.stream));
  expect<T>(rank, "Broadcast", take(count), [&](std::size_t i) { return valueOf(rank.ranks - 1, i); });
  NCCL(ncclGroupStart());
  NCCL(ncclSend(send, count, type, (rank.rank + 1) % rank.ranks, rank.comm, rank.stream));
  NCCL(ncclRecv(receive, count, type, (rank.rank + rank.ranks - 1) % rank.ranks, rank.comm, rank.stream));
  NCCL(ncclGroupEnd());
  expect<T>(rank, "Recv", take(count), [&](std::size_t i) {
    return valueOf((rank.rank + rank.ranks - 1) % rank.ranks, i);
  });
  CUDA(cudaFree(send));
  CUDA(cudaFree(receive));
}

// The calls as a graph.
cudaGraphExec_t graphOf(const Rank& rank, const std::function<void()>& calls) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  CUDA(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
  calls();
  CUDA(cudaStreamEndCapture(rank.stream, &graph));
  CUDA(cudaGraphInstantiate(&instance, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return instance;
}

// Each replay multiplies the values by the square of the number of ranks.
void checkGraph(const Rank& rank) {
  constexpr std::size_t kCount = 100000;
  constexpr int kReplays = 3;
  auto* const values = rank.memory<float>(kCount);
  auto* const sums = rank.memory<float>(kCount);
  std::vector<float> host(kCount, 1.0f);
  CUDA(cudaMemcpy(values, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  const cudaGraphExec_t graph = graphOf(rank, [&] {
    NCCL(ncclAllReduce(values, sums, kCount, ncclFloat, ncclSum, rank.comm, rank.stream));
    NCCL(ncclAllReduce(sums, values, kCount, ncclFloat, ncclSum, rank.comm, rank.stream));
  });
  double expected = 1;
  for (int replay = 0; replay < kReplays; ++replay) {
    CUDA(cudaGraphLaunch(graph, rank.stream));
    expected *= rank.ranks * rank.ranks;
  }
  CUDA(cudaMemcpyAsync(host.data(), values, kCount * sizeof(float), cudaMemcpyDeviceToHost, rank.stream));
  rank.await();
  expect<float>(rank, "a graph of AllReduces", host, [&](std::size_t) { return expected; });
  CUDA(cudaGraphExecDestroy(graph));
  CUDA(cudaFree(values));
  CUDA(cudaFree(sums));
}

void check(const Rank& rank) {
  checkGraph(rank);
  for (const std::size_t count : {1, 3, 31, 1000, 65537, 1 << 20}) {
    checkType<float>(rank, ncclFloat, count);
    checkType<std::int32_t>(rank, ncclInt32, count);
    checkType<double>(rank, ncclDouble, count);
    checkType<std::uint8_t>(rank, ncclUint8, count);
  }
}

// Microseconds of one call, the best of three rounds.
double timeOf(const Rank& rank, int rounds, const std::function<void()>& call) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  call();
  rank.await();
  float best = 1e30f;
  for (int round = 0; round < 3; ++round) {
    CUDA(cudaEventRecord(begin, rank.stream));
    for (int i = 0; i < rounds; ++i) call();
    CUDA(cudaEventRecord(end, rank.stream));
    rank.await();
    float milliseconds = 0;
    CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::min(best, milliseconds / static_cast<float>(rounds));
  }
  return 1000.0 * best;
}

void measure(const Rank& rank) {
  const std::size_t most = std::size_t{1} << 28;
  auto* const send = rank.memory<float>(most / 4);
  auto* const receive = rank.memory<float>(most / 4);
  CUDA(cudaMemset(send, 0, most));
  const double copy = timeOf(rank, 5, [&] {
    CUDA(cudaMemcpyAsync(receive, send, most, cudaMemcpyDeviceToDevice, rank.stream));
  });
  if (rank.rank == 0)
    std::printf("copy in the GPU's memory, by all ranks at once: %.1f GB/s read and written\n| bytes | AllReduce us | GB/s |\n|---|---|---|\n",
                2e-3 * static_cast<double>(most) / copy);
  for (std::size_t bytes = 8; bytes <= most; bytes *= 32) {
    const double time = timeOf(rank, bytes < (1u << 20) ? 50 : 5, [&] {
      NCCL(ncclAllReduce(send, receive, bytes / 4, ncclFloat, ncclSum, rank.comm, rank.stream));
    });
    if (rank.rank == 0) std::printf("| %zu | %.1f | %.2f |\n", bytes, time, 1e-3 * static_cast<double>(bytes) / time);
  }
  constexpr int kCalls = 20;
  const cudaGraphExec_t graph = graphOf(rank, [&] {
    for (int i = 0; i < kCalls; ++i)
      NCCL(ncclAllReduce(send, receive, 2, ncclFloat, ncclSum, rank.comm, rank.stream));
  });
  const double replay = timeOf(rank, 10, [&] { CUDA(cudaGraphLaunch(graph, rank.stream)); });
  if (rank.rank == 0) std::printf("8 bytes in a graph of %d calls: %.1f us a call\n", kCalls, replay / kCalls);
  CUDA(cudaGraphExecDestroy(graph));
  CUDA(cudaFree(send));
  CUDA(cudaFree(receive));
}

int main(int count, char** words) {
  const bool measures = count > 1 && std::strcmp(words[1], "measure") == 0;
  const int ranks = count > 2 ? std::atoi(words[2]) : 0;
  if (ranks < 1 || (!measures && std::strcmp(words[1], "check") != 0)) {
    std::fprintf(stderr, "usage: gpu_ranks check|measure RANKS\n");
    return 2;
  }
  runRanks(ranks, measures ? measure : check);
  std::printf("%d ranks: %s done\n", ranks, words[1]);
  return 0;
}
