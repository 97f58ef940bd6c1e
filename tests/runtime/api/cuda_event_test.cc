// Events, and the other functions of host/cuda_runtime.h for programs with several streams.

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "host/cuda_runtime.h"
#include "runtime/api/cuda_handles.h"

namespace {

using ::testing::HasSubstr;

// A host function that holds its stream until it is released.
struct Gate {
  static void wait(void* self) {
    while (!static_cast<Gate*>(self)->open.load()) std::this_thread::yield();
  }
  std::atomic<bool> open{false};
};

class Events : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaEventCreate(&event_), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&a_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithPriority(&b_, cudaStreamDefault, -1), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(a_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(b_), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    cudaGetLastError();
  }
  cudaEvent_t event_ = nullptr;
  cudaStream_t a_ = nullptr, b_ = nullptr;
};

TEST_F(Events, OneThatWasNeverRecordedIsReached) {
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(a_, event_, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
}

TEST_F(Events, InAnIdleStreamOneIsReachedAtOnce) {
  cudaEvent_t shared = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&shared, cudaEventDisableTiming | cudaEventInterprocess), cudaSuccess);
  const xylem::device::Stream& queue = xylem::api::streamOf(a_)->queue();
  const std::uint64_t before = queue.enqueued();
  for (cudaEvent_t event : {event_, shared}) {
    ASSERT_EQ(cudaEventRecord(event, a_), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(b_, event), cudaSuccess);
  }
  EXPECT_EQ(queue.enqueued(), before);
  EXPECT_FALSE(xylem::api::streamOf(b_)->queue().pending());
  EXPECT_EQ(cudaEventDestroy(shared), cudaSuccess);
}

TEST_F(Events, AStreamWaitsForAnother) {
  Gate gate;
  int first = 1, second = 0, third = 0;
  ASSERT_EQ(cudaLaunchHostFunc(a_, Gate::wait, &gate), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&second, &first, sizeof first, cudaMemcpyDefault, a_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&third, &second, sizeof first, cudaMemcpyDefault, b_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(b_), cudaErrorNotReady);
  gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(third, 1);
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
}

TEST_F(Events, WaitingIsForThePlaceAtTheTime) {
  Gate gate;
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(a_, Gate::wait, &gate), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  std::thread([&] { EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady); }).join();
  gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
}

TEST_F(Events, TimesArePassing) {
  cudaEvent_t end = nullptr, untimed = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&end, cudaEventBlockingSync), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, end), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed, a_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, a_), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(nullptr, event_, end), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(untimed), cudaSuccess);
}

TEST_F(Events, WhatCannotBeIsRefused) {
  cudaEvent_t event = nullptr;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaEventCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, 64), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventRecord(nullptr, a_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamWaitEvent(a_, event_, 5), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamWaitEvent(a_, nullptr, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 9), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchHostFunc(a_, nullptr, nullptr), cudaErrorInvalidValue);
}

TEST(CudaRuntime, TheLastErrorIsTheThreads) {
  cudaGetLastError();
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaSetDevice(-1);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaRuntime, OnlyItsOwnMemoryIsFreed) {
  int stack = 0;
  float* device = nullptr;
  float* host = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(&stack), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&host, 64, cudaHostAllocPortable | cudaHostAllocMapped), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaHostAlloc(&host, 64, 256), cudaErrorInvalidValue);
  void* huge = &stack;
  EXPECT_EQ(cudaMalloc(&huge, SIZE_MAX / 2), cudaErrorMemoryAllocation);
  EXPECT_EQ(huge, nullptr);
}

TEST(CudaRuntime, DevicesDescribeThemselves) {
  setenv("XYLEM_HOST_DEVICES", "40", 1);
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 33), cudaSuccess);
  EXPECT_THAT(properties.name, HasSubstr("33"));
  EXPECT_GT(properties.totalGlobalMem, 0u);
  EXPECT_GT(properties.multiProcessorCount, 0);
  char busId[32];
  ASSERT_EQ(cudaDeviceGetPCIBusId(busId, sizeof busId, 33), cudaSuccess);
  EXPECT_STREQ(busId, "ffff:01:01.0");
  EXPECT_EQ(properties.pciBusID, 1);
  EXPECT_EQ(properties.pciDeviceID, 1);
  EXPECT_EQ(cudaDeviceGetPCIBusId(busId, 5, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetPCIBusId(busId, sizeof busId, 40), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 40), cudaErrorInvalidDevice);
  std::size_t available = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&available, &total), cudaSuccess);
  EXPECT_LE(available, total);
  EXPECT_EQ(total, properties.totalGlobalMem);
  EXPECT_EQ(cudaMemGetInfo(nullptr, &total), cudaErrorInvalidValue);
  int least = 1, greatest = 1;
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_GT(least, greatest);
  unsetenv("XYLEM_HOST_DEVICES");
}

}  // namespace
