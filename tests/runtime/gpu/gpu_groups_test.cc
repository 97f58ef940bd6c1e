// Groups with more sends and receives than blocks run at the same time, and with many ranks of one thread.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "nccl.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"

namespace xylem::testing {
namespace gpu_groups {

// How many blocks run at the same time on a GPU.
class GpuGroupsOn : public ::testing::TestWithParam<int> {};

struct Message {
  int from = 0, to = 0;
  std::vector<std::int32_t> sent;
  std::int32_t* received = nullptr;
};

// Any number of messages from any rank to any, of any sizes, and an AllReduce between them.
TEST_P(GpuGroupsOn, DeliverAllMessages) {
  auto variables = variablesOf("Ring,Tree", "Simple,LL");
  variables["NCCL_BUFFSIZE"] = "65536";  // large messages do not fit into their queues
  const Environment environment(variables);
  constexpr int kRanks = 5;
  constexpr std::size_t kSums = 700;
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto pick = [&](std::size_t most) { return static_cast<std::size_t>(random()) % (most + 1); };
  MappedGpus gpus({.residentBlocks = GetParam()});
  Ranks ranks(&gpus, kRanks);
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<Message> messages;
    for (int from = 0; from < kRanks; ++from)
      for (int to = 0; to < kRanks; ++to)
        for (std::size_t n = turn == 0 ? 1 : pick(2); n > 0; --n) {
          // Some go through one queue, others through several.
          const std::size_t count = random() % 4 == 0 ? 100000 + pick(60000) : 1 + pick(900);
          std::vector<std::int32_t> sent(count);
          for (std::int32_t& value : sent) value = static_cast<std::int32_t>(random());
          auto* const received = reinterpret_cast<std::int32_t*>(ranks.memory(to, 4 * count));
          messages.push_back({from, to, std::move(sent), received});
        }
    const bool sums =
        turn % 2 == 1 && GetParam() > 2;  // of which each needs one at least: sends, receives, the AllReduce
    std::vector<std::int32_t*> totals;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      const ncclComm_t comm = ranks.comm(rank);
      const cudaStream_t stream = ranks.stream(rank);
      for (const Message& message : messages) {
        if (message.from == rank) {
          auto* const data = reinterpret_cast<std::int32_t*>(ranks.memory(rank, 4 * message.sent.size()));
          std::copy(message.sent.begin(), message.sent.end(), data);
          ASSERT_EQ(ncclSend(data, message.sent.size(), ncclInt32, message.to, comm, stream), ncclSuccess);
        }
        if (message.to == rank) {
          ASSERT_EQ(ncclRecv(message.received, message.sent.size(), ncclInt32, message.from, comm, stream),
                    ncclSuccess);
        }
      }
      if (!sums) continue;
      totals.push_back(reinterpret_cast<std::int32_t*>(ranks.memory(rank, 4 * kSums)));
      std::fill_n(totals.back(), kSums, rank);
      ASSERT_EQ(ncclAllReduce(totals.back(), totals.back(), kSums, ncclInt32, ncclSum, comm, stream),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    ranks.await();
    for (const Message& message : messages)
      ASSERT_TRUE(std::equal(message.sent.begin(), message.sent.end(), message.received))
          << message.sent.size() << " from " << message.from << " to " << message.to;
    for (const std::int32_t* const total : totals)
      ASSERT_EQ(std::count(total, total + kSums, kRanks * (kRanks - 1) / 2), static_cast<int>(kSums));
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, GpuGroupsOn, ::testing::Values(2, 3, 7, 32));

// Works that need more memory than launches have in advance.
TEST(GpuGroups, TakeMemoryForAllRanksBeforeTheFirstKernelStarts) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 3, kCalls = 200;
  MappedGpus gpus({.takingWaits = true});
  Ranks ranks(&gpus, kRanks);
  std::vector<float*> data;
  for (int rank = 0; rank < kRanks; ++rank) {
    data.push_back(reinterpret_cast<float*>(ranks.memory(rank, sizeof(float) * kCalls)));
    std::fill_n(data.back(), kCalls, 1.0f);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    for (int call = 0; call < kCalls; ++call) {
      float* const value = data[static_cast<std::size_t>(rank)] + call;
      ASSERT_EQ(ncclAllReduce(value, value, 1, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
    }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  ranks.await();
  for (const float* const values : data) EXPECT_EQ(std::count(values, values + kCalls, 3.0f), kCalls);
}

// More launches under way than there are kernels in advance.
TEST(GpuGroups, MayBeMany) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 2, kCalls = 100;
  MappedGpus gpus;
  Ranks ranks(&gpus, kRanks);
  std::vector<float*> data;
  bool opens = false;
  for (int rank = 0; rank < kRanks; ++rank) {
    data.push_back(reinterpret_cast<float*>(ranks.memory(rank, sizeof(float))));
    *data.back() = 1.0f;
    gpus.hold(ranks.stream(rank), &opens);
  }
  for (int call = 0; call < kCalls; ++call) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      float* const value = data[static_cast<std::size_t>(rank)];
      ASSERT_EQ(ncclAllReduce(value, value, 1, ncclFloat, ncclAvg, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  }
  __atomic_store_n(&opens, true, __ATOMIC_RELEASE);
  ranks.await();
  for (const float* const value : data) EXPECT_EQ(*value, 1.0f);
}

}  // namespace gpu_groups
}  // namespace xylem::testing
