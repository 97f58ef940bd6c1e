// Groups and communicators that do not block, as the C interface shows them.

#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "runtime/api/alone.h"

namespace {

using ::testing::HasSubstr;

ncclConfig_t notBlocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

TEST_F(Alone, AnEndNeedsAStart) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclGroupStart"));
  EXPECT_EQ(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage);
}

TEST_F(Alone, AGroupFailsAsItsFirstFailingCall) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess);
  EXPECT_EQ(ncclBroadcast(data_, out_, 8, ncclFloat, 5, comm_, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(data_, 8, ncclFloat, 9, comm_, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclBroadcast: root is 5"));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[0], 0) << "nothing of the group happened";
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess) << "the next call is not affected";
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[7], 8);
}

TEST_F(Alone, TheOutermostEndCounts) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[0], 0);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[0], 1);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_F(Alone, OneKindOfCallsPerGroup) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t other = nullptr;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&other, 1, id, 0), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not both"));
  EXPECT_EQ(other, nullptr);
}

TEST_F(Alone, ASimulatedGroupDoesNothing) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess);
  ncclSimInfo_t raw;
  std::memset(&raw, 0, sizeof raw);
  EXPECT_EQ(ncclGroupSimulateEnd(&raw), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("NCCL_SIM_INFO_INITIALIZER"));
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  EXPECT_GE(info.estimatedTime, 0);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "the group has ended";
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[0], 0);
}

TEST_F(Alone, InAGroupACommunicatorIsMadeAtTheEnd) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t made = nullptr;
  int rank = -1;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&made, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommUserRank(made, &rank), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not ready"));
  EXPECT_EQ(ncclCommDestroy(made), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument) << "destroying what is being made fails the group";
  EXPECT_EQ(ncclCommDestroy(made), ncclSuccess) << "which leaves something to destroy";
}

TEST_F(Alone, DestroyingInAGroupHappensAtTheEnd) {
  ncclComm_t other = join(nullptr);
  ASSERT_NE(other, nullptr);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  int ranks = 0;
  EXPECT_EQ(ncclCommCount(other, &ranks), ncclInvalidArgument);
}

TEST_F(Alone, AbortingInAGroupEndsAllUseAtOnce) {
  ncclComm_t others[] = {join(nullptr), join(nullptr)};
  int ranks = 0;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(others[0]), ncclSuccess);
  EXPECT_EQ(ncclCommCount(others[0], &ranks), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("was destroyed"));
  EXPECT_EQ(ncclCommAbort(others[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(others[1]), ncclSuccess);
  EXPECT_EQ(ncclCommCount(comm_, &ranks), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
}

TEST_F(Alone, AGroupThatFailsFreesWhatItAborts) {
  ncclComm_t other = join(nullptr);
  int ranks = 0;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data_, out_, 8, ncclFloat, ncclSum, other, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(other), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data_, out_, 8, ncclFloat, ncclSum, other, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(out_[0], 0);
  EXPECT_EQ(ncclCommCount(other, &ranks), ncclInvalidArgument);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess) << "other communicators are not affected";
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[7], 8);
}

TEST_F(Alone, CommunicatorsThatDoNotBlock) {
  ncclConfig_t config = notBlocking();
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInProgress);
  ASSERT_NE(comm, nullptr);
  EXPECT_EQ(settle(comm), ncclSuccess) << ncclGetLastError(comm);
  EXPECT_EQ(ncclAllReduce(data_, out_, 8, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(out_[7], 8);

  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data_, out_, 8, ncclFloat, ncclSum, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclConfig_t"));

  EXPECT_EQ(ncclCommFinalize(comm), ncclInProgress);
  EXPECT_EQ(settle(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(Alone, SplittingOffOneself) {
  ncclComm_t child = comm_;
  EXPECT_EQ(ncclCommSplit(comm_, NCCL_SPLIT_NOCOLOR, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(child, nullptr);
  EXPECT_EQ(ncclCommSplit(comm_, 3, 0, &child, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  ASSERT_NE(child, nullptr);
  int ranks = 0;
  EXPECT_EQ(ncclCommCount(child, &ranks), ncclSuccess);
  EXPECT_EQ(ranks, 1);
  EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  EXPECT_EQ(allReduce(data_, data_, 8), ncclSuccess) << "the parent can be used as before";
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

TEST_F(Alone, ASplitThatDoesNotBlockIsUnderWayInTheParentToo) {
  ncclConfig_t config = notBlocking();
  ncclComm_t parent = join(&config), child = nullptr;
  ASSERT_EQ(settle(parent), ncclSuccess);
  EXPECT_EQ(ncclCommSplit(parent, 0, 0, &child, nullptr), ncclInProgress);
  EXPECT_EQ(settle(parent), ncclSuccess);
  EXPECT_EQ(settle(child), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(parent), ncclSuccess);
}

}  // namespace
