// Memory and events of one process in another.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "host/cuda_runtime.h"
#include "runtime/api/other_process.h"

namespace {

constexpr std::size_t kBytes = 100000;
constexpr const char* kVariable = "XYLEM_TEST_IPC_HANDLES";

TEST(CudaIpc, AnotherProcessWritesIntoMemoryAndRecordsAnEvent) {
  char* memory = nullptr;
  cudaEvent_t event = nullptr;
  cudaIpcMemHandle_t memoryHandle{};
  cudaIpcEventHandle_t eventHandle{};
  ASSERT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory, 'a', kBytes), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  ASSERT_EQ(cudaIpcGetMemHandle(&memoryHandle, memory + 77), cudaSuccess) << "of the whole allocation";
  ASSERT_EQ(cudaIpcGetEventHandle(&eventHandle, event), cudaSuccess);
  EXPECT_EQ(xylem::testing::runOtherProcess(
                "CudaIpc.DISABLED_ThePeer", kVariable,
                xylem::testing::hexOf(memoryHandle.reserved) + xylem::testing::hexOf(eventHandle.reserved)),
            0);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess) << "recorded over there";
  EXPECT_EQ(memory[0], 'b');
  EXPECT_EQ(memory[kBytes - 1], 'z');
  void* mine = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&mine, memoryHandle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// The other process, which only AnotherProcessWritesIntoMemoryAndRecordsAnEvent starts.
TEST(CudaIpc, DISABLED_ThePeer) {
  const char* handles = std::getenv(kVariable);
  ASSERT_NE(handles, nullptr);
  cudaIpcMemHandle_t handle{};
  cudaIpcEventHandle_t eventHandle{};
  xylem::testing::bytesOf(handles, handle.reserved);
  xylem::testing::bytesOf(handles + 2 * sizeof handle.reserved, eventHandle.reserved);
  void *memory = nullptr, *again = nullptr;
  ASSERT_EQ(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  ASSERT_EQ(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  EXPECT_EQ(again, memory);
  EXPECT_EQ(cudaIpcCloseMemHandle(again), cudaSuccess) << "still open once";
  auto* bytes = static_cast<char*>(memory);
  EXPECT_EQ(bytes[kBytes / 2], 'a');
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(cudaIpcGetMemHandle(nullptr, memory), cudaErrorInvalidValue);

  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaIpcOpenEventHandle(&event, eventHandle), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(bytes, 'b', 1), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(bytes + kBytes - 1, 'z', 1), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaSuccess);
  EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
}

TEST(CudaIpc, WhatIsNotOfCudaMallocHasNoHandle) {
  char own = 0;
  void* host = nullptr;
  cudaIpcMemHandle_t handle{};
  cudaIpcEventHandle_t eventHandle{};
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaMallocHost(&host, 8), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, &own), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, host), cudaErrorInvalidValue);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaIpcGetEventHandle(&eventHandle, event), cudaErrorInvalidResourceHandle);
  void* memory = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenMemHandle(&memory, handle, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcCloseMemHandle(&own), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

TEST(CudaIpc, AProcessThatIsGoneIsNoticed) {
  void* memory = nullptr;
  cudaIpcMemHandle_t handle{};
  ASSERT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  ASSERT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
  // The process's number, where the handle has it.
  const std::int32_t nobody = 0x7ffffff0;
  const std::int32_t mine = getpid();
  bool found = false;
  for (std::size_t i = 0; i + sizeof mine <= sizeof handle.reserved && !found; i += sizeof mine) {
    found = std::memcmp(handle.reserved + i, &mine, sizeof mine) == 0;
    if (found) std::memcpy(handle.reserved + i, &nobody, sizeof nobody);
  }
  ASSERT_TRUE(found);
  void* theirs = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&theirs, handle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorMapBufferObjectFailed);
  EXPECT_EQ(theirs, nullptr);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

}  // namespace
