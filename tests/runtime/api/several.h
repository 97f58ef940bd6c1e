#pragma once
// Communicators of several ranks, all of them this thread's, each with a non-blocking stream.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "nccl.h"

class Several : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  void SetUp() override {
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("XYLEM_HOST_DEVICES", std::to_string(kRanks).c_str(), 1);
    comms_.resize(kRanks);
    ASSERT_EQ(ncclCommInitAll(comms_.data(), kRanks, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
    streams_.resize(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
      ASSERT_EQ(cudaStreamCreateWithFlags(&streams_[rank], cudaStreamNonBlocking), cudaSuccess);
    }
  }
  void TearDown() override {
    for (const cudaStream_t stream : streams_) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (const ncclComm_t comm : comms_) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    cudaSetDevice(0);
    unsetenv("XYLEM_HOST_DEVICES");
    unsetenv("NCCL_SOCKET_IFNAME");
  }
  // One call on every rank, as a group.
  void together(const std::function<ncclResult_t(int rank)>& call) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(call(rank), ncclSuccess) << ncclGetLastError(nullptr);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  }
  void wait() {
    for (const cudaStream_t stream : streams_)
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << ncclGetLastError(nullptr);
  }

  std::vector<ncclComm_t> comms_;
  std::vector<cudaStream_t> streams_;
};
