// When an operation has failed for a rank, its buffers are its own again, even if other ranks are still busy
// with theirs. Here ranks are threads, and an access to memory after that ends the test. Every FaultJob finds
// late writes of processes.

#include <gtest/gtest.h>

#include <random>
#include <semaphore>

#include "faults/fault_job.h"
#include "faults/work_memory.h"
#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;

constexpr int kRanks = 3;
constexpr int kRounds = kSanitized ? 5 : 8;
constexpr int kLatestAbort = 20'000;  // microseconds
constexpr std::size_t kCount = kSanitized ? 1 << 18 : 1 << 20;

struct BufferWay {
  const char* name;
  const char* algorithm;  // NCCL_ALGO; null: the direct exchange
  bool transfers;
};
constexpr BufferWay kBufferWays[] = {
    {"Direct", nullptr, false}, {"Ring", "Ring", false}, {"SendAndReceive", nullptr, true}};

class Buffers : public ::testing::TestWithParam<BufferWay> {
 protected:
  ncclResult_t enqueue(int rank, const WorkMemory& memory, ncclComm_t comm) const {
    if (!GetParam().transfers)
      return ncclAllReduce(memory.send(), memory.receive(), kCount, ncclFloat, ncclSum, comm, nullptr);
    ncclGroupStart();
    ncclSend(memory.send(), kCount, ncclFloat, (rank + 1) % kRanks, comm, nullptr);
    ncclRecv(memory.receive(), kCount, ncclFloat, (rank + kRanks - 1) % kRanks, comm, nullptr);
    return ncclGroupEnd();
  }

  // Until it fails.
  void work(int rank, ncclComm_t comm, WorkMemory& memory) const {
    while (enqueue(rank, memory, comm) == ncclSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess) {
    }
    cudaStreamSynchronize(nullptr);  // operations that a failed group has left in the stream
    memory.lock();
  }
};

TEST_P(Buffers, AreNobodyElsesOnceTheOperationHasFailed) {
  const BufferWay& way = GetParam();
  Variables here{{"NCCL_PROTO", way.algorithm != nullptr ? "Simple" : ""}};
  if (way.algorithm != nullptr) setenv("NCCL_ALGO", way.algorithm, 1);
  std::mt19937 random(20250118);
  for (int round = 0; round < kRounds; ++round) {
    // Locked memory stays until all ranks are done: a new mapping could get the same address.
    std::vector<WorkMemory> memories;
    for (int rank = 0; rank < kRanks; ++rank)
      memories.emplace_back(WorkMemory::Kind::kPages, kCount * sizeof(float));
    const auto delay = std::chrono::microseconds(random() % kLatestAbort);
    const int quitter = static_cast<int>(random() % kRanks);
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([&, rank] {
        cudaSetDevice(rank);
        ncclComm_t comm = nullptr;
        ASSERT_EQ(ncclCommInitRank(&comm, kRanks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
        std::thread aborter;
        if (rank == quitter)
          aborter = std::thread([comm, delay] {
            std::this_thread::sleep_for(delay);
            EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
          });
        work(rank, comm, memories[static_cast<std::size_t>(rank)]);
        if (aborter.joinable())
          aborter.join();
        else
          EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
      });
    for (std::thread& rank : ranks) rank.join();
  }
  unsetenv("NCCL_ALGO");
}

INSTANTIATE_TEST_SUITE_P(Over, Buffers, ::testing::ValuesIn(kBufferWays),
                         [](const auto& sample) { return std::string(sample.param.name); });

}  // namespace
}  // namespace xylem
