// The C boundary: what every function says to arguments that cannot be used, and what it stores otherwise.

#include "nccl.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StrEq;

// A communicator of one rank.
class Alone : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
    ASSERT_EQ(ncclCommInitRank(&comm_, 1, id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess);
    unsetenv("NCCL_SOCKET_IFNAME");
  }
  ncclResult_t allReduce(const void* send, void* receive, size_t count, int type = ncclFloat,
                         int op = ncclSum) {
    return ncclAllReduce(send, receive, count, static_cast<ncclDataType_t>(type),
                         static_cast<ncclRedOp_t>(op), comm_, nullptr);
  }
  void expectRefused(ncclResult_t result, const char* parameter) {
    EXPECT_EQ(result, ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), AllOf(HasSubstr("ncclAllReduce"), HasSubstr(parameter)));
  }

  ncclComm_t comm_ = nullptr;
  float data_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float out_[8] = {};
};

TEST(Nccl, TheVersionIsThatOfTheHeader) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22501);
  EXPECT_EQ(NCCL_VERSION_CODE, 22501);
  EXPECT_EQ(NCCL_VERSION(2, 8, 3), 2803);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), StrEq("ncclGetVersion: version is null"));
}

TEST(Nccl, EveryResultHasWords) {
  for (int result = -1; result <= ncclNumResults; ++result)
    EXPECT_THAT(ncclGetErrorString(static_cast<ncclResult_t>(result)), Not(StrEq("")));
}

TEST(Nccl, JoiningChecksItsArguments) {
  ncclUniqueId id;
  std::memset(&id, 0, sizeof id);
  ncclComm_t comm = reinterpret_cast<ncclComm_t>(8);
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("comm is null"));
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr) << "a failed call leaves no handle";
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank is 2; expected 0 to 1"));
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, -1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument) << "zeros are not an id";
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("128 bytes"));
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
}

TEST(Nccl, AnInterfaceThatIsNotThereIsTold) {
  setenv("NCCL_SOCKET_IFNAME", "nosuch", 1);
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), AllOf(HasSubstr("nosuch"), HasSubstr("there are:")));
  unsetenv("NCCL_SOCKET_IFNAME");
}

TEST(Nccl, AVariableThatCannotBeUsedIsTold) {
  setenv("XYLEM_TIMEOUT", "soon", 1);
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), AllOf(HasSubstr("XYLEM_TIMEOUT"), HasSubstr("soon")));
  unsetenv("XYLEM_TIMEOUT");
}

TEST(Nccl, NullCommunicators) {
  int value = 0;
  ncclResult_t async = ncclSuccess;
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommCount(nullptr, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommUserRank(nullptr, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCuDevice(nullptr, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetAsyncError(nullptr, &async), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), StrEq("ncclAllReduce: comm is null"));
}

TEST_F(Alone, AskingNeedsSomewhereToStore) {
  EXPECT_EQ(ncclCommCount(comm_, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommUserRank(comm_, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCuDevice(comm_, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetAsyncError(comm_, nullptr), ncclInvalidArgument);
}

TEST_F(Alone, AllReduceChecksItsArguments) {
  expectRefused(allReduce(nullptr, out_, 8), "sendbuff is null");
  expectRefused(allReduce(data_, nullptr, 8), "recvbuff is null");
  expectRefused(allReduce(data_, out_, 8, -1), "datatype is -1");
  expectRefused(allReduce(data_, out_, 8, ncclNumTypes), "datatype is 12");
  expectRefused(allReduce(data_, out_, 8, ncclFloat, ncclNumOps), "op is 5");
  expectRefused(allReduce(data_, out_, 8, ncclFloat, -1), "op is -1");
  expectRefused(allReduce(data_, out_, SIZE_MAX / 2), "count is");
  expectRefused(allReduce(data_, data_ + 1, 4), "overlap");
  expectRefused(allReduce(reinterpret_cast<char*>(data_) + 1, out_, 1), "sendbuff is not aligned");
  expectRefused(allReduce(data_, reinterpret_cast<char*>(out_) + 2, 1), "recvbuff is not aligned");
}

TEST_F(Alone, NothingMayBeNullIfThereIsNothingToDo) {
  EXPECT_EQ(allReduce(nullptr, nullptr, 0), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

TEST_F(Alone, OneRankCopies) {
  ASSERT_EQ(allReduce(data_, out_, 8, ncclFloat, ncclAvg), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(std::memcmp(data_, out_, sizeof data_), 0);
  ASSERT_EQ(allReduce(data_, data_, 8), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
  EXPECT_EQ(data_[7], 8);
}

TEST_F(Alone, EachThreadHasItsOwnLastError) {
  ncclGetVersion(nullptr);
  std::string other = "unset";
  std::thread([&] { other = ncclGetLastError(nullptr); }).join();
  EXPECT_EQ(other, "");
  EXPECT_THAT(ncclGetLastError(comm_), HasSubstr("ncclGetVersion"));
}

TEST_F(Alone, AThousandOperationsMayBeUnderWay) {
  std::vector<std::int32_t> data(100, 3);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(allReduce(data.data(), data.data(), 100, ncclInt32), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(data[99], 3);
}

}  // namespace
