// Functions of NCCL 2.29 and 2.30: growing, suspending, windows of other ranks, parameters.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "several.h"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NewerCalls : public Several {};

TEST_F(NewerCalls, ACommunicatorGrows) {
  setenv("XYLEM_HOST_DEVICES", "4", 1);
  ncclUniqueId id;
  ASSERT_EQ(ncclCommGetUniqueId(comms_[0], &id), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<ncclComm_t> grown(kRanks + 1);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(ncclCommGrow(comms_[rank], kRanks + 1, rank == 0 ? &id : nullptr, -1, &grown[rank], nullptr),
              ncclSuccess);
  }
  ASSERT_EQ(cudaSetDevice(kRanks), cudaSuccess);
  EXPECT_EQ(ncclCommGrow(nullptr, kRanks + 1, &id, kRanks, &grown[kRanks], nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<int> values(kRanks + 1);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank <= kRanks; ++rank) {
    int known = -1;
    EXPECT_EQ(ncclCommUserRank(grown[rank], &known), ncclSuccess);
    EXPECT_EQ(known, rank) << "ranks keep their numbers";
    values[rank] = rank + 1;
    EXPECT_EQ(ncclAllReduce(&values[rank], &values[rank], 1, ncclInt, ncclSum, grown[rank], nullptr),
              ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (int rank = 0; rank <= kRanks; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(values, std::vector<int>(kRanks + 1, 10));
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (const ncclComm_t comm : grown) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
}

TEST_F(NewerCalls, WhatDoesNotGrow) {
  ncclUniqueId id;
  ASSERT_EQ(ncclCommGetUniqueId(comms_[0], &id), ncclSuccess);
  ncclComm_t grown = comms_[0];
  EXPECT_EQ(ncclCommGrow(comms_[0], kRanks, &id, -1, &grown, nullptr), ncclInvalidArgument);
  EXPECT_EQ(grown, nullptr);
  EXPECT_EQ(ncclCommGrow(comms_[0], kRanks + 1, &id, 0, &grown, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGrow(nullptr, kRanks + 1, nullptr, kRanks, &grown, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGrow(nullptr, kRanks + 1, &id, kRanks + 1, &grown, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGrow(comms_[0], kRanks + 1, &id, -1, nullptr, nullptr), ncclInvalidArgument);
  // No rank has the id.
  std::vector<ncclComm_t> made(kRanks);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(ncclCommGrow(comms_[rank], kRanks + 1, nullptr, -1, &made[rank], nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("0 ranks of the communicator that grows gave an id"));
  for (const ncclComm_t comm : made)
    if (comm != nullptr) {
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    }
}

TEST_F(NewerCalls, SuspendingAndResuming) {
  uint64_t value = 7;
  EXPECT_EQ(ncclCommMemStats(comms_[0], ncclStatGpuMemSuspended, &value), ncclSuccess);
  EXPECT_EQ(value, 0u);
  together([&](int rank) { return ncclCommSuspend(comms_[rank], NCCL_SUSPEND_MEM); });
  EXPECT_EQ(ncclCommMemStats(comms_[0], ncclStatGpuMemSuspended, &value), ncclSuccess);
  EXPECT_EQ(value, 1u);
  together([&](int rank) { return ncclCommResume(comms_[rank]); });
  EXPECT_EQ(ncclCommMemStats(comms_[0], ncclStatGpuMemSuspended, &value), ncclSuccess);
  EXPECT_EQ(value, 0u);
  EXPECT_EQ(ncclCommMemStats(comms_[0], ncclStatGpuMemSuspend, &value), ncclSuccess);
  EXPECT_EQ(value, 0u);
  EXPECT_EQ(ncclCommSuspend(comms_[0], 0), ncclSuccess) << "without its flag nothing happens";
  EXPECT_EQ(ncclCommMemStats(comms_[0], ncclStatGpuMemTotal, &value), ncclInvalidUsage);
  EXPECT_EQ(ncclCommMemStats(comms_[0], static_cast<ncclCommMemStat_t>(4), &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommMemStats(comms_[0], ncclStatGpuMemSuspend, nullptr), ncclInvalidArgument);
}

TEST_F(NewerCalls, PointersIntoWindows) {
  std::vector<std::byte> memory(100);
  ncclWindow_t window = nullptr;
  ASSERT_EQ(
      ncclCommWindowRegister(comms_[1], memory.data(), memory.size(), &window, NCCL_WIN_STRICT_ORDERING),
      ncclSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(ncclWinGetUserPtr(comms_[1], window, &pointer), ncclSuccess);
  EXPECT_EQ(pointer, memory.data());
  EXPECT_EQ(ncclWinGetUserPtr(comms_[0], window, &pointer), ncclInvalidArgument);
  EXPECT_EQ(ncclGetPeerDevicePointer(window, 10, 1, &pointer), ncclSuccess);
  EXPECT_EQ(pointer, memory.data() + 10);
  EXPECT_EQ(ncclGetPeerDevicePointer(window, 10, 0, &pointer), ncclSuccess);
  EXPECT_EQ(pointer, nullptr) << "of another rank";
  EXPECT_EQ(ncclGetPeerDevicePointer(window, 10, kRanks, &pointer), ncclInvalidArgument);
  EXPECT_EQ(ncclGetLsaDevicePointer(window, 3, 0, &pointer), ncclSuccess);
  EXPECT_EQ(pointer, memory.data() + 3);
  EXPECT_EQ(ncclGetLsaDevicePointer(window, 3, 1, &pointer), ncclInvalidArgument);
  EXPECT_EQ(ncclGetLsaMultimemDevicePointer(window, 0, &pointer), ncclSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(ncclGetMultimemDevicePointer(window, 0, {nullptr}, &pointer), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowDeregister(comms_[1], window), ncclSuccess);
  EXPECT_EQ(ncclGetPeerDevicePointer(window, 0, 1, &pointer), ncclInvalidArgument) << "given back";
}

TEST(Parameters, AreTheSettings) {
  setenv("NCCL_MIN_NCHANNELS", "3", 1);
  setenv("NCCL_ALGO", "Ring", 1);
  ncclParamHandle_t number = nullptr, text = nullptr;
  ASSERT_EQ(ncclParamBind(&number, "NCCL_MIN_NCHANNELS"), ncclSuccess);
  ASSERT_EQ(ncclParamBind(&text, "NCCL_ALGO"), ncclSuccess);
  EXPECT_EQ(ncclParamBind(&text, "NCCL_NO_SUCH"), ncclInvalidArgument);
  EXPECT_EQ(ncclParamBind(&text, nullptr), ncclInvalidArgument);
  int64_t value = 0;
  EXPECT_EQ(ncclParamGetI64(number, &value), ncclSuccess);
  EXPECT_EQ(value, 3);
  int32_t narrow = 0;
  EXPECT_EQ(ncclParamGetI32(number, &narrow), ncclInvalidArgument) << "the type must be exact";
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclParamGetI64"));
  const char* word = nullptr;
  EXPECT_EQ(ncclParamGetStr(text, &word), ncclSuccess);
  EXPECT_STREQ(word, "Ring");
  EXPECT_EQ(ncclParamGetStr(number, &word), ncclInvalidArgument);
  char bytes[8];
  int length = -1;
  EXPECT_EQ(ncclParamGet(text, bytes, 4, &length), ncclInvalidArgument) << "no room for the final null";
  EXPECT_EQ(length, 0);
  EXPECT_EQ(ncclParamGet(text, bytes, 8, &length), ncclSuccess);
  EXPECT_STREQ(bytes, "Ring");
  EXPECT_EQ(length, 5);
  EXPECT_EQ(ncclParamGetParameter("NCCL_MIN_NCHANNELS", &word, &length), ncclSuccess);
  EXPECT_STREQ(word, "3");
  EXPECT_EQ(length, 1);
  EXPECT_EQ(ncclParamGetParameter("NCCL_NO_SUCH", &word, &length), ncclInvalidArgument);
  EXPECT_EQ(word, nullptr);
  const char** names = nullptr;
  int count = 0;
  EXPECT_EQ(ncclParamGetAllParameterKeys(&names, &count), ncclSuccess);
  EXPECT_GT(count, 50);
  EXPECT_TRUE(
      std::any_of(names, names + count, [](const char* n) { return std::strcmp(n, "NCCL_ALGO") == 0; }));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(ncclParamDumpAll(), ncclSuccess);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("=== ncclParam Registry Dump ==="), HasSubstr("NCCL_MIN_NCHANNELS (int64)"),
                    HasSubstr("    Current value=3 set_by=environment")));
  unsetenv("NCCL_MIN_NCHANNELS");
  unsetenv("NCCL_ALGO");
}

}  // namespace
