// Wrong calls: each is refused with NCCL's code and a sentence that names the call and the mistake.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "runtime/api/alone.h"
#include "runtime/comm/rank_threads.h"
#include "support/sanitizers.h"

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Misuse {
  const char* call;
  const char* text;
  std::function<ncclResult_t()> work;
  ncclResult_t code = ncclInvalidArgument;
};

void expectRefused(const std::vector<Misuse>& misuses) {
  for (const Misuse& misuse : misuses) {
    const ncclResult_t code = misuse.work();
    EXPECT_EQ(code, misuse.code) << misuse.call << ": " << misuse.text;
    EXPECT_THAT(ncclGetLastError(nullptr), StartsWith(std::string(misuse.call) + ":"));
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(misuse.text));
  }
}

template <typename Enumeration>
Enumeration odd(int value) {
  Enumeration result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

TEST_F(Alone, MovingData) {
  const auto badType = odd<ncclDataType_t>(ncclNumTypes);
  float* const null = nullptr;
  expectRefused({
      {"ncclAllReduce", "sendbuff is null", [&] { return allReduce(nullptr, out_, 8); }},
      {"ncclAllReduce", "recvbuff is null", [&] { return allReduce(data_, nullptr, 8); }},
      {"ncclAllReduce", "datatype is -1; expected 0 to 11", [&] { return allReduce(data_, out_, 8, -1); }},
      {"ncclAllReduce", "datatype is 12", [&] { return allReduce(data_, out_, 8, ncclNumTypes); }},
      {"ncclAllReduce", "op is 5", [&] { return allReduce(data_, out_, 8, ncclFloat, ncclNumOps); }},
      {"ncclAllReduce", "op is -1", [&] { return allReduce(data_, out_, 8, ncclFloat, -1); }},
      {"ncclAllReduce", "count is", [&] { return allReduce(data_, out_, SIZE_MAX / 2); }},
      {"ncclAllReduce", "overlap", [&] { return allReduce(data_, data_ + 1, 4); }},
      {"ncclAllReduce", "overlap", [&] { return allReduce(data_ + 3, data_, 4); }},
      {"ncclReduce", "root is 1; expected 0 to 0",
       [&] { return ncclReduce(data_, out_, 8, ncclFloat, ncclSum, 1, comm_, nullptr); }},
      {"ncclReduce", "root is -1",
       [&] { return ncclReduce(data_, out_, 8, ncclFloat, ncclSum, -1, comm_, nullptr); }},
      {"ncclReduce", "recvbuff is null",
       [&] { return ncclReduce(data_, null, 8, ncclFloat, ncclSum, 0, comm_, nullptr); }},
      {"ncclBroadcast", "sendbuff is null",
       [&] { return ncclBroadcast(null, out_, 8, ncclFloat, 0, comm_, nullptr); }},
      {"ncclBroadcast", "root is 7",
       [&] { return ncclBroadcast(data_, out_, 8, ncclFloat, 7, comm_, nullptr); }},
      {"ncclBcast", "is null", [&] { return ncclBcast(null, 8, ncclFloat, 0, comm_, nullptr); }},
      {"ncclBcast", "datatype is 12", [&] { return ncclBcast(data_, 8, badType, 0, comm_, nullptr); }},
      {"ncclAllGather", "sendbuff is null",
       [&] { return ncclAllGather(null, out_, 8, ncclFloat, comm_, nullptr); }},
      {"ncclAllGather", "count is",
       [&] { return ncclAllGather(data_, out_, SIZE_MAX / 4, ncclFloat, comm_, nullptr); }},
      {"ncclReduceScatter", "recvbuff is null",
       [&] { return ncclReduceScatter(data_, null, 8, ncclFloat, ncclSum, comm_, nullptr); }},
      {"ncclSend", "peer is 1", [&] { return ncclSend(data_, 8, ncclFloat, 1, comm_, nullptr); }},
      {"ncclSend", "sendbuff is null", [&] { return ncclSend(null, 8, ncclFloat, 0, comm_, nullptr); }},
      {"ncclRecv", "peer is -1", [&] { return ncclRecv(data_, 8, ncclFloat, -1, comm_, nullptr); }},
      {"ncclRecv", "recvbuff is null", [&] { return ncclRecv(null, 8, ncclFloat, 0, comm_, nullptr); }},
      {"ncclSend", "comm is null", [&] { return ncclSend(data_, 8, ncclFloat, 0, nullptr, nullptr); }},
  });
}

TEST_F(Alone, MakingCommunicators) {
  ncclUniqueId id;
  std::memset(&id, 0, sizeof id);
  ncclComm_t comm = comm_;
  const auto init = [&](int ranks, int rank) { return ncclCommInitRank(&comm, ranks, id, rank); };
  const auto scalable = [&](int count, ncclUniqueId* ids) {
    return ncclCommInitRankScalable(&comm, 2, 0, count, ids, nullptr);
  };
  const auto split = [&](int color, ncclConfig_t* config) {
    return ncclCommSplit(comm_, color, 0, &comm, config);
  };
  ncclConfig_t raw;
  std::memset(&raw, 0, sizeof raw);
  const int twice[] = {0, 0}, missing[] = {9999};
  expectRefused({
      {"ncclGetUniqueId", "uniqueId is null", [&] { return ncclGetUniqueId(nullptr); }},
      {"ncclCommInitRank", "comm is null", [&] { return ncclCommInitRank(nullptr, 1, id, 0); }},
      {"ncclCommInitRank", "nranks is 0", [&] { return init(0, 0); }},
      {"ncclCommInitRank", "rank is 2; expected 0 to 1", [&] { return init(2, 2); }},
      {"ncclCommInitRank", "rank is -1", [&] { return init(2, -1); }},
      {"ncclCommInitRank", "128 bytes", [&] { return init(2, 0); }},
      {"ncclCommInitRankConfig", "NCCL_CONFIG_INITIALIZER",
       [&] { return ncclCommInitRankConfig(&comm, 1, id, 0, &raw); }},
      {"ncclCommInitRankScalable", "nId is 0; expected 1 to 2", [&] { return scalable(0, &id); }},
      {"ncclCommInitRankScalable", "nId is 3", [&] { return scalable(3, &id); }},
      {"ncclCommInitRankScalable", "commIds is null", [&] { return scalable(1, nullptr); }},
      {"ncclCommInitAll", "comm is null", [&] { return ncclCommInitAll(nullptr, 1, nullptr); }},
      {"ncclCommInitAll", "ndev is 0", [&] { return ncclCommInitAll(&comm, 0, nullptr); }},
      {"ncclCommInitAll", "XYLEM_HOST_DEVICES", [&] { return ncclCommInitAll(&comm, 100000, nullptr); },
       ncclInvalidUsage},
      {"ncclCommInitAll", "devlist[0] is 9999", [&] { return ncclCommInitAll(&comm, 1, missing); }},
      {"ncclCommSplit", "newcomm is null", [&] { return ncclCommSplit(comm_, 0, 0, nullptr, nullptr); }},
      {"ncclCommSplit", "color is -2", [&] { return split(-2, nullptr); }},
      {"ncclCommSplit", "NCCL_CONFIG_INITIALIZER", [&] { return split(0, &raw); }},
      {"ncclCommSplit", "comm is null", [&] { return ncclCommSplit(nullptr, 0, 0, &comm, nullptr); }},
  });
  EXPECT_EQ(comm, nullptr) << "a failed call leaves no handle";
  setenv("XYLEM_HOST_DEVICES", "4", 1);
  ncclComm_t two[2];
  expectRefused({{"ncclCommInitAll", "device 0 is in devlist twice",
                  [&] { return ncclCommInitAll(two, 2, twice); }, ncclInvalidUsage}});
  unsetenv("XYLEM_HOST_DEVICES");
}

TEST_F(Alone, AskingAndMemory) {
  int value = 0;
  ncclResult_t state = ncclSuccess;
  void* handle = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(ncclMemAlloc(&memory, 100), ncclSuccess);
  ASSERT_EQ(ncclMemFree(memory), ncclSuccess);
  ASSERT_EQ(ncclCommRegister(comm_, data_, sizeof data_, &handle), ncclSuccess);
  ASSERT_EQ(ncclCommDeregister(comm_, handle), ncclSuccess);
  EXPECT_EQ(ncclCommDeregister(comm_, nullptr), ncclSuccess);
  EXPECT_EQ(ncclMemFree(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclSuccess);
  void* other = &value;
  EXPECT_EQ(ncclMemAlloc(&other, 0), ncclSuccess);
  EXPECT_EQ(other, nullptr);
  expectRefused({
      {"ncclGetVersion", "version is null", [&] { return ncclGetVersion(nullptr); }},
      {"ncclCommCount", "count is null", [&] { return ncclCommCount(comm_, nullptr); }},
      {"ncclCommUserRank", "rank is null", [&] { return ncclCommUserRank(comm_, nullptr); }},
      {"ncclCommCuDevice", "device is null", [&] { return ncclCommCuDevice(comm_, nullptr); }},
      {"ncclCommGetAsyncError", "is null", [&] { return ncclCommGetAsyncError(comm_, nullptr); }},
      {"ncclCommCount", "comm is null", [&] { return ncclCommCount(nullptr, &value); }},
      {"ncclCommGetAsyncError", "comm is null", [&] { return ncclCommGetAsyncError(nullptr, &state); }},
      {"ncclMemAlloc", "ptr is null", [&] { return ncclMemAlloc(nullptr, 8); }},
      {"ncclMemFree", "not given out", [&] { return ncclMemFree(&value); }},
      {"ncclCommRegister", "buff is null", [&] { return ncclCommRegister(comm_, nullptr, 8, &other); }},
      {"ncclCommRegister", "size is 0", [&] { return ncclCommRegister(comm_, data_, 0, &other); }},
      {"ncclCommRegister", "size is", [&] { return ncclCommRegister(comm_, data_, SIZE_MAX, &other); }},
      {"ncclCommRegister", "handle is null", [&] { return ncclCommRegister(comm_, data_, 8, nullptr); }},
      {"ncclCommDeregister", "given back before", [&] { return ncclCommDeregister(comm_, handle); }},
  });
}

TEST_F(Alone, Operations) {
  ncclRedOp_t op = ncclSum, made = ncclSum;
  float half = 0.5f;
  const auto create = [&](ncclRedOp_t* out, float* scalar, int type, int residence, ncclComm_t comm) {
    return ncclRedOpCreatePreMulSum(out, scalar, odd<ncclDataType_t>(type),
                                    odd<ncclScalarResidence_t>(residence), comm);
  };
  ASSERT_EQ(create(&made, &half, ncclFloat, ncclScalarHostImmediate, comm_), ncclSuccess);
  EXPECT_GT(made, ncclNumOps);
  ncclComm_t other = join(nullptr);
  ASSERT_NE(other, nullptr);
  expectRefused({
      {"ncclRedOpCreatePreMulSum", "op is null", [&] { return create(nullptr, &half, ncclFloat, 1, comm_); }},
      {"ncclRedOpCreatePreMulSum", "scalar is null",
       [&] { return create(&op, nullptr, ncclFloat, 1, comm_); }},
      {"ncclRedOpCreatePreMulSum", "datatype is 12", [&] { return create(&op, &half, 12, 1, comm_); }},
      {"ncclRedOpCreatePreMulSum", "residence is 2", [&] { return create(&op, &half, ncclFloat, 2, comm_); }},
      {"ncclRedOpCreatePreMulSum", "comm is null", [&] { return create(&op, &half, ncclFloat, 1, nullptr); }},
      {"ncclAllReduce", "created for elements of type float, not double",
       [&] { return allReduce(data_, out_, 1, ncclDouble, made); }},
      {"ncclRedOpDestroy", "built in", [&] { return ncclRedOpDestroy(ncclMax, comm_); }},
      {"ncclRedOpDestroy", "this communicator", [&] { return ncclRedOpDestroy(made, other); }},
      {"ncclAllReduce", "this communicator",
       [&] { return ncclAllReduce(data_, out_, 8, ncclFloat, made, other, nullptr); }},
  });
  EXPECT_EQ(ncclRedOpDestroy(made, comm_), ncclSuccess);
  expectRefused({{"ncclRedOpDestroy", "destroyed", [&] { return ncclRedOpDestroy(made, comm_); }},
                 {"ncclAllReduce", "destroyed", [&] { return allReduce(data_, out_, 8, ncclFloat, made); }}});
  EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
}

TEST_F(Alone, AfterTheEnd) {
  ASSERT_EQ(ncclCommFinalize(comm_), ncclSuccess);
  const auto reduce = [&] { return allReduce(data_, out_, 8); };
  ncclComm_t child = nullptr;
  expectRefused({
      {"ncclCommFinalize", "finalized before", [&] { return ncclCommFinalize(comm_); }},
      {"ncclAllReduce", "finalized", reduce, ncclInvalidUsage},
      {"ncclCommRevoke", "finalized", [&] { return ncclCommRevoke(comm_, NCCL_REVOKE_DEFAULT); }},
      {"ncclCommSplit", "finalized", [&] { return ncclCommSplit(comm_, 0, 0, &child, nullptr); },
       ncclInvalidUsage},
  });
  int ranks = 0;
  EXPECT_EQ(ncclCommCount(comm_, &ranks), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess);
  ncclResult_t state = ncclSuccess;
  expectRefused({
      {"ncclAllReduce", "was destroyed", reduce},
      {"ncclCommDestroy", "was destroyed", [&] { return ncclCommDestroy(comm_); }},
      {"ncclCommAbort", "was destroyed", [&] { return ncclCommAbort(comm_); }},
      {"ncclCommGetAsyncError", "was destroyed", [&] { return ncclCommGetAsyncError(comm_, &state); }},
  });
  comm_ = nullptr;
}

TEST_F(Alone, AfterAborting) {
  EXPECT_EQ(ncclCommAbort(comm_), ncclSuccess);
  expectRefused({{"ncclAllReduce", "was destroyed", [&] { return allReduce(data_, out_, 8); }},
                 {"ncclCommAbort", "was destroyed", [&] { return ncclCommAbort(comm_); }}});
  comm_ = nullptr;
}

TEST_F(Alone, AChildOfForkNeedsItsOwn) {
  if (xylem::testing::kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow a fork of a process with threads";
  const pid_t child = fork();
  if (child == 0) {
    const bool refused =
        allReduce(data_, out_, 8) == ncclInvalidUsage &&
        std::strstr(ncclGetLastError(nullptr), "a child needs a communicator of its own") != nullptr;
    _exit(refused && ncclCommDestroy(comm_) == ncclInvalidUsage ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(allReduce(data_, out_, 8), ncclSuccess);
}

TEST(Misuse, BlocksOfOtherRanksAreNotInPlace) {
  const xylem::testing::Variables variables{};
  const auto results = xylem::testing::runRanks(2, [](int rank, ncclComm_t comm) {
    float data[8] = {};
    const int other = 1 - rank;
    expectRefused({
        {"ncclAllGather", "overlap",
         [&] { return ncclAllGather(data + other * 4, data, 4, ncclFloat, comm, nullptr); }},
        {"ncclReduceScatter", "overlap",
         [&] { return ncclReduceScatter(data, data + other * 4, 4, ncclFloat, ncclSum, comm, nullptr); }},
        {"ncclAllGather", "of every rank",
         [&] { return ncclAllGather(data, data, PTRDIFF_MAX / 6, ncclFloat, comm, nullptr); }},
    });
    EXPECT_EQ(ncclAllGather(data + rank * 4, data, 4, ncclFloat, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclReduceScatter(data, data + rank * 4, 4, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    // Buffers that a rank does not use may be any pointers.
    float* const unused = rank == 0 ? data : nullptr;
    EXPECT_EQ(ncclReduce(data, unused, 8, ncclFloat, ncclSum, 0, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclBroadcast(unused, data, 8, ncclFloat, 0, comm, nullptr), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  });
  xylem::testing::expectAllJoined(results);
}

}  // namespace
