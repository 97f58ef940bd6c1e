#pragma once
// The ranks of a job on this host's GPUs, as threads, as processes, or as processes of which each takes itself for a host of its own, so
// that data goes over a network.
//
//   Team team(4, Team::As::kProcesses);
//   team.run([](Rank& rank) { NCCL(ncclAllReduce(..., rank.comm, rank.stream)); rank.await(); });
//
// Ranks are dealt out to the GPUs in turn. A failed call ends the program with a line that names it.

#include <cuda_runtime.h>
#include <nccl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#define REQUIRE(CALL, OK, TEXT)                                                   \
  do {                                                                            \
    const auto status = (CALL);                                                   \
    if (status != (OK)) {                                                         \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #CALL, (TEXT)); \
      std::_Exit(1);                                                              \
    }                                                                             \
  } while (false)
#define CUDA(CALL) REQUIRE(CALL, cudaSuccess, cudaGetErrorString(status))
#define NCCL(CALL) REQUIRE(CALL, ncclSuccess, ncclGetLastError(nullptr))

constexpr int kMostRanks = 64;

// The ranks share it, also as processes.
struct Shared {
  pthread_barrier_t barrier;
  ncclUniqueId id;
  std::uint64_t words[kMostRanks];
};

struct Rank {
  int rank = 0, ranks = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  Shared* shared = nullptr;

  // Until all ranks have called it. Memory is taken and freed between two meetings: the driver may wait for all kernels of
  // the GPU then, also for one that waits for this rank.
  void meet() const { pthread_barrier_wait(&shared->barrier); }
  void await() const { CUDA(cudaStreamSynchronize(stream)); }
};

template <typename T = std::byte>
T* deviceMemory(std::size_t count) {
  void* data = nullptr;
  CUDA(cudaMalloc(&data, count * sizeof(T)));
  return static_cast<T*>(data);
}

class Team {
 public:
  enum class As { kThreads, kProcesses, kHosts };

  Team(int ranks, As as) : ranks_(ranks), as_(as) {
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("mmap");
      std::_Exit(1);
    }
    shared_ = static_cast<Shared*>(memory);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared_->barrier, &attributes, static_cast<unsigned>(ranks));
  }

  // Processes are forked before this one has used CUDA.
  void run(const std::function<void(Rank&)>& body) {
    if (as_ == As::kThreads) {
      std::vector<std::thread> threads;
      for (int rank = 0; rank < ranks_; ++rank) threads.emplace_back([&, rank] { runRank(rank, body); });
      for (std::thread& thread : threads) thread.join();
      return;
    }
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks_; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        if (as_ == As::kHosts) setenv("NCCL_HOSTID", ("host" + std::to_string(rank)).c_str(), 1);
        runRank(rank, body);
        std::fflush(nullptr);
        std::_Exit(0);
      }
      children.push_back(child);
    }
    for (int left = ranks_; left > 0; --left) {
      int status = 0;
      wait(&status);
      if (status == 0) continue;
      std::fprintf(stderr, "a rank has ended with status %d\n", status);
      for (const pid_t child : children) kill(child, SIGKILL);
      std::_Exit(1);
    }
  }

 private:
  void runRank(int number, const std::function<void(Rank&)>& body) {
    Rank rank{number, ranks_, nullptr, nullptr, shared_};
    int gpus = 0;
    CUDA(cudaGetDeviceCount(&gpus));
    CUDA(cudaSetDevice(number % gpus));
    CUDA(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
    if (number == 0) NCCL(ncclGetUniqueId(&shared_->id));
    rank.meet();
    NCCL(ncclCommInitRank(&rank.comm, rank.ranks, shared_->id, number));
    body(rank);
    rank.await();
    rank.meet();
    if (rank.comm != nullptr) NCCL(ncclCommDestroy(rank.comm));
  }

  int ranks_;
  As as_;
  Shared* shared_ = nullptr;
};
