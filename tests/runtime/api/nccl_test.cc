// The C boundary: the result of every function for unusable arguments, and what it stores otherwise.

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/api/alone.h"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StrEq;

TEST(Nccl, TheVersionIsThatOfTheHeader) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22707);
  EXPECT_EQ(NCCL_VERSION_CODE, 22707);
  EXPECT_EQ(NCCL_VERSION(2, 8, 3), 2803);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), StrEq("ncclGetVersion: version is null"));
}

TEST(Nccl, EveryResultHasWords) {
  for (int result = -1; result <= ncclNumResults; ++result)
    EXPECT_THAT(ncclGetErrorString(static_cast<ncclResult_t>(result)), Not(StrEq("")));
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

TEST_F(Alone, NothingMayBeNullIfThereIsNothingToDo) {
  EXPECT_EQ(allReduce(nullptr, nullptr, 0), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

TEST_F(Alone, BuffersMayStartAnywhere) {
  char from[sizeof data_ + 1], to[sizeof data_ + 3];
  std::memcpy(from + 1, data_, sizeof data_);
  ASSERT_EQ(allReduce(from + 1, to + 3, 8), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(std::memcmp(to + 3, data_, sizeof data_), 0);
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
