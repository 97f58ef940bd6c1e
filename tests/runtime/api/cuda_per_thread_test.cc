// In a program that is compiled like this one, a null stream means the calling thread's default stream.

#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "host/cuda_runtime.h"

namespace {

struct ThreadGate {
  static void wait(void* self) {
    while (!static_cast<ThreadGate*>(self)->open.load()) std::this_thread::yield();
  }
  std::atomic<bool> open{false};
};

TEST(CudaPerThread, NullIsAStreamOfTheThread) {
  ThreadGate gate;
  ASSERT_EQ(cudaLaunchHostFunc(nullptr, ThreadGate::wait, &gate), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady) << "they are the same";
  std::thread([] {
    int from = 3, to = 0, copy = 0;
    EXPECT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << "another thread's";
    EXPECT_EQ(to, 3);
    EXPECT_EQ(cudaMemcpy(&copy, &to, sizeof to, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaMemset(&to, 0, sizeof to), cudaSuccess);
    EXPECT_EQ(copy, 3);
    EXPECT_EQ(to, 0);
  }).join();
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

TEST(CudaPerThread, NullCanBeCaptured) {
  int from = 4, to = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(nullptr, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(to, 4);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
