// Collectives in graphs.

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "runtime/api/several.h"

namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class CapturedCalls : public Several {
 protected:
  void begin() {
    for (const cudaStream_t stream : streams_)
      ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  std::vector<cudaGraphExec_t> end() {
    std::vector<cudaGraphExec_t> execs;
    for (const cudaStream_t stream : streams_) {
      cudaGraph_t graph = nullptr;
      EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      cudaGraphExec_t exec = nullptr;
      EXPECT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
      execs.push_back(exec);
    }
    return execs;
  }
  void launch(const std::vector<cudaGraphExec_t>& execs) {
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_EQ(cudaGraphLaunch(execs[rank], streams_[rank]), cudaSuccess) << ncclGetLastError(nullptr);
  }
  static void destroy(const std::vector<cudaGraphExec_t>& execs) {
    for (const cudaGraphExec_t exec : execs) EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  }
  // Stores 3 of `value`s of each rank, as it is now, in `result_`.
  void captureSum(const std::vector<int>& value, std::vector<int>& result) {
    together([&](int rank) {
      return ncclAllReduce(&value[rank], &result[rank], 1, ncclInt32, ncclSum, comms_[rank], streams_[rank]);
    });
  }
};

TEST_F(CapturedCalls, AGroupOfCollectivesIsIssuedAnewAtEachLaunch) {
  std::vector<int> value(kRanks), sum(kRanks, -1), squared(kRanks, -1);
  begin();
  captureSum(value, sum);
  together([&](int rank) {
    return ncclAllReduce(&sum[rank], &squared[rank], 1, ncclInt32, ncclProd, comms_[rank], streams_[rank]);
  });
  const auto execs = end();
  EXPECT_THAT(sum, Each(-1));
  for (int launch = 1; launch <= 5; ++launch) {
    value.assign(kRanks, launch);
    this->launch(execs);
    wait();
    EXPECT_THAT(sum, Each(3 * launch));
    EXPECT_THAT(squared, Each(27 * launch * launch * launch));
  }
  destroy(execs);
}

TEST_F(CapturedCalls, TwoGraphsAndCallsBesideThemTakeTurns) {
  std::vector<int> a(kRanks, 1), b(kRanks), c(kRanks), d(kRanks);
  begin();
  captureSum(a, b);
  const auto first = end();
  begin();
  together([&](int rank) {
    const ncclResult_t sent =
        ncclSend(&b[rank], 1, ncclInt32, (rank + 1) % kRanks, comms_[rank], streams_[rank]);
    return sent != ncclSuccess
               ? sent
               : ncclRecv(&c[rank], 1, ncclInt32, (rank + kRanks - 1) % kRanks, comms_[rank], streams_[rank]);
  });
  const auto second = end();
  for (int round = 0; round < 30; ++round) {
    launch(first);
    launch(second);
    together([&](int rank) {
      return ncclAllReduce(&c[rank], &d[rank], 1, ncclInt32, ncclMax, comms_[rank], streams_[rank]);
    });
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_EQ(cudaMemcpyAsync(&a[rank], &d[rank], sizeof(int), cudaMemcpyDefault, streams_[rank]),
                cudaSuccess);
    if (round % 10 == 9) {
      wait();
      ASSERT_THAT(a, Each(59049));  // 3 to the power of 10
      a.assign(kRanks, 1);
    }
  }
  destroy(first);
  destroy(second);
}

TEST_F(CapturedCalls, AForkedStreamIsPartOfTheGraph) {
  std::vector<int> value(kRanks, 2), sum(kRanks), product(kRanks), both(kRanks);
  std::vector<cudaStream_t> forks(kRanks);
  std::vector<cudaEvent_t> events(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(cudaStreamCreateWithFlags(&forks[rank], cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&events[rank]), cudaSuccess);
  }
  const auto join = [&](const std::vector<cudaStream_t>& from, const std::vector<cudaStream_t>& to) {
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(cudaEventRecord(events[rank], from[rank]), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(to[rank], events[rank], 0), cudaSuccess);
    }
  };
  begin();
  join(streams_, forks);
  // Both streams in one group: one node that both wait for.
  together([&](int rank) {
    const ncclResult_t first =
        ncclAllReduce(&value[rank], &sum[rank], 1, ncclInt32, ncclSum, comms_[rank], streams_[rank]);
    return first != ncclSuccess ? first
                                : ncclAllReduce(&value[rank], &product[rank], 1, ncclInt32, ncclProd,
                                                comms_[rank], forks[rank]);
  });
  join(forks, streams_);
  together([&](int rank) {
    return ncclAllReduce(&product[rank], &both[rank], 1, ncclInt32, ncclSum, comms_[rank], streams_[rank]);
  });
  const auto execs = end();
  for (int i = 0; i < 3; ++i) launch(execs);
  wait();
  EXPECT_THAT(sum, Each(6));
  EXPECT_THAT(both, Each(24));
  destroy(execs);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(cudaStreamDestroy(forks[rank]), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(events[rank]), cudaSuccess);
  }
}

TEST_F(CapturedCalls, AGroupIsCapturedAsAWholeOrNotAtAll) {
  std::vector<int> value(kRanks, 1), sum(kRanks);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const auto call = [&](cudaStream_t stream) {
    return ncclAllReduce(value.data(), sum.data(), 1, ncclInt32, ncclSum, comms_[0], stream);
  };
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(call(other), ncclSuccess);
  EXPECT_EQ(call(streams_[0]), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("captured"));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(call(streams_[0]), ncclSuccess);
  EXPECT_EQ(call(other), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(other, &graph), cudaSuccess);
  size_t nodes = 99;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 0u) << "of groups that failed nothing is left";
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(CapturedCalls, AGraphWhoseCommunicatorIsGoneSaysSo) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  int value = 1;
  cudaSetDevice(0);
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  ASSERT_EQ(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, streams_[0]), ncclSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(streams_[0], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0ull), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, streams_[0]), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(streams_[0]), cudaSuccess);
  ASSERT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, streams_[0]), cudaErrorLaunchFailure);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("destroyed"));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  cudaGetLastError();
}

}  // namespace
