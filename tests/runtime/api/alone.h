#pragma once
// A communicator of one rank, for tests of what calls say to their arguments.

#include <gtest/gtest.h>

#include <cstdlib>

#include "nccl.h"

class Alone : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    comm_ = join(nullptr);
    ASSERT_NE(comm_, nullptr) << ncclGetLastError(nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess) << ncclGetLastError(nullptr);
    unsetenv("NCCL_SOCKET_IFNAME");
  }
  // Null if that fails; one that does not block may still be joining.
  static ncclComm_t join(ncclConfig_t* config) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    if (ncclGetUniqueId(&id) == ncclSuccess) ncclCommInitRankConfig(&comm, 1, id, 0, config);
    return comm;
  }
  ncclResult_t allReduce(const void* send, void* receive, size_t count, int type = ncclFloat,
                         int op = ncclSum) {
    return ncclAllReduce(send, receive, count, static_cast<ncclDataType_t>(type),
                         static_cast<ncclRedOp_t>(op), comm_, nullptr);
  }
  // The final result of a communicator that does not block.
  static ncclResult_t settle(ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress && ncclCommGetAsyncError(comm, &state) == ncclSuccess) {
    }
    return state;
  }

  ncclComm_t comm_ = nullptr;
  float data_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float out_[8] = {};
};
