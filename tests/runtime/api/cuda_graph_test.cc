// Capture, and graphs that are launched again and again.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "host/cuda_runtime.h"

namespace {

class Graphs : public ::testing::Test {
 protected:
  void SetUp() override {
    for (cudaStream_t* stream : {&a_, &b_})
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    for (cudaEvent_t* event : {&fork_, &join_}) ASSERT_EQ(cudaEventCreate(event), cudaSuccess);
  }
  void TearDown() override {
    for (cudaStream_t stream : {a_, b_}) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    for (cudaEvent_t event : {fork_, join_}) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    cudaGetLastError();
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    ASSERT_EQ(cudaStreamBeginCapture(a_, mode), cudaSuccess);
  }
  // Ends the capture of a_; null, and the error is checked, if it fails.
  cudaGraphExec_t end(cudaError_t expected = cudaSuccess) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(a_, &graph), expected);
    EXPECT_EQ(graph != nullptr, expected == cudaSuccess);
    if (graph == nullptr) return nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
  }
  cudaStreamCaptureStatus statusOf(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
    return status;
  }
  void forkAndJoin(cudaError_t (*work)(void*, cudaStream_t), void* argument) {
    EXPECT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(b_, fork_, 0), cudaSuccess);
    EXPECT_EQ(work(argument, b_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(join_, b_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(a_, join_, 0), cudaSuccess);
  }

  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
};

void addOne(void* number) { ++*static_cast<int*>(number); }
cudaError_t enqueueAddOne(void* number, cudaStream_t stream) {
  return cudaLaunchHostFunc(stream, addOne, number);
}

TEST_F(Graphs, NothingIsDoneWhileItIsCapturedAndAllOfItAtEachLaunch) {
  int from = 7, to = 0, calls = 0;
  std::vector<char> filled(64, 'x');
  begin();
  EXPECT_EQ(statusOf(a_), cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyHostToDevice, a_), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(filled.data(), 'y', filled.size(), a_), cudaSuccess);
  EXPECT_EQ(cudaLaunchHostFunc(a_, addOne, &calls), cudaSuccess);
  cudaGraphExec_t exec = end();
  ASSERT_NE(exec, nullptr);
  EXPECT_EQ(statusOf(a_), cudaStreamCaptureStatusNone);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(to, 0);
  EXPECT_EQ(calls, 0);
  for (int launch = 1; launch <= 3; ++launch) {
    from = 10 * launch;
    ASSERT_EQ(cudaGraphLaunch(exec, launch == 2 ? b_ : a_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(launch == 2 ? b_ : a_), cudaSuccess);
    EXPECT_EQ(to, 10 * launch) << "copies read at the launch";
    EXPECT_EQ(filled[63], 'y');
    EXPECT_EQ(calls, launch);
  }
  EXPECT_EQ(cudaGraphUpload(exec, a_), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

TEST_F(Graphs, LaunchesOfOneGraphNeverOverlap) {
  int sum = 0;
  begin();
  for (int i = 0; i < 5; ++i) forkAndJoin(enqueueAddOne, &sum);
  cudaGraphExec_t exec = end();
  ASSERT_NE(exec, nullptr);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(cudaGraphLaunch(exec, i % 2 == 0 ? a_ : b_), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess) << "what was launched goes on";
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(sum, 100);
}

TEST_F(Graphs, TheNodesTellWhatTheyAreAndWhatTheyDependOn) {
  int x = 0, y = 1;
  begin();
  ASSERT_EQ(cudaMemcpyAsync(&x, &y, sizeof x, cudaMemcpyDefault, a_), cudaSuccess);
  forkAndJoin(enqueueAddOne, &x);
  ASSERT_EQ(cudaMemsetAsync(&y, 0, sizeof y, a_), cudaSuccess);
  cudaGraph_t graph = nullptr, copy = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(a_, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphClone(&copy, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  size_t count = 0;
  ASSERT_EQ(cudaGraphGetNodes(copy, nullptr, &count), cudaSuccess);
  ASSERT_EQ(count, 3u);
  cudaGraphNode_t nodes[4] = {};
  count = 4;
  ASSERT_EQ(cudaGraphGetNodes(copy, nodes, &count), cudaSuccess);
  EXPECT_EQ(count, 3u);
  const cudaGraphNodeType types[] = {cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost, cudaGraphNodeTypeMemset};
  for (int i = 0; i < 3; ++i) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    EXPECT_EQ(cudaGraphNodeGetType(nodes[i], &type), cudaSuccess);
    EXPECT_EQ(type, types[i]);
  }
  cudaGraphNode_t root = nullptr, from[4] = {}, to[4] = {};
  count = 1;
  EXPECT_EQ(cudaGraphGetRootNodes(copy, &root, &count), cudaSuccess);
  EXPECT_EQ(root, nodes[0]);
  count = 4;
  EXPECT_EQ(cudaGraphGetEdges(copy, from, to, &count), cudaSuccess);
  ASSERT_EQ(count, 3u);  // 0 to 1, 0 to 2 and 1 to 2
  EXPECT_EQ(from[0], nodes[0]);
  EXPECT_EQ(to[2], nodes[2]);
  EXPECT_EQ(cudaGraphDestroy(copy), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(nullptr), cudaErrorInvalidValue);
}

TEST_F(Graphs, AGraphMayBePartOfAnother) {
  int sum = 0;
  begin();
  forkAndJoin(enqueueAddOne, &sum);
  cudaGraphExec_t inner = end();
  begin();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(inner, a_), cudaSuccess);
  cudaGraphExec_t outer = end();
  EXPECT_EQ(cudaGraphExecDestroy(inner), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(outer, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(cudaGraphExecDestroy(outer), cudaSuccess);
}

TEST_F(Graphs, MemoryOfAGraphIsTheSameAtEachLaunch) {
  int one = 1, result = 0;
  void* memory = nullptr;
  begin();
  ASSERT_EQ(cudaMallocAsync(&memory, sizeof one, a_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(memory, &one, sizeof one, cudaMemcpyDefault, a_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&result, memory, sizeof one, cudaMemcpyDefault, a_), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(memory, a_), cudaSuccess);
  cudaGraphExec_t exec = end();
  for (one = 5; one < 8; ++one) {
    ASSERT_EQ(cudaGraphLaunch(exec, a_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
    EXPECT_EQ(result, one);
  }
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue) << "gone with the graph";
}

TEST_F(Graphs, ExternalEventsAreRecordedAndAwaitedAtEachLaunch) {
  int sum = 0;
  begin();
  ASSERT_EQ(cudaStreamWaitEvent(a_, fork_, cudaEventWaitExternal), cudaSuccess);
  ASSERT_EQ(enqueueAddOne(&sum, a_), cudaSuccess);
  ASSERT_EQ(cudaEventRecordWithFlags(join_, a_, cudaEventRecordExternal), cudaSuccess);
  cudaGraphExec_t exec = end();
  EXPECT_EQ(cudaEventQuery(join_), cudaSuccess) << "not recorded so far";
  ASSERT_EQ(cudaEventRecord(fork_, b_), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, a_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(join_), cudaSuccess);
  EXPECT_EQ(sum, 1);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaEventRecordWithFlags(join_, a_, cudaEventRecordExternal), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamWaitEvent(a_, join_, cudaEventWaitExternal), cudaErrorIllegalState);
}

TEST_F(Graphs, WhatWaitsForACapturedStreamLosesTheCapture) {
  int x = 0;
  const auto lost = [&](cudaError_t error, cudaError_t expected) {
    EXPECT_EQ(error, expected);
    EXPECT_EQ(statusOf(a_), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(cudaMemsetAsync(&x, 0, sizeof x, a_), cudaErrorStreamCaptureInvalidated);
    end(cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(statusOf(a_), cudaStreamCaptureStatusNone);
  };
  begin();
  lost(cudaStreamSynchronize(a_), cudaErrorStreamCaptureUnsupported);
  begin();
  lost(cudaStreamQuery(a_), cudaErrorStreamCaptureUnsupported);
  begin();
  lost(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  begin();
  void* memory = nullptr;
  lost(cudaMalloc(&memory, 8), cudaErrorStreamCaptureUnsupported);
  begin();
  const auto callback = [](cudaStream_t, cudaError_t, void*) {};
  lost(cudaStreamAddCallback(a_, callback, nullptr, 0), cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaEventRecord(fork_, b_), cudaSuccess);
  begin();
  lost(cudaStreamWaitEvent(a_, fork_, 0), cudaErrorStreamCaptureIsolation);
}

TEST_F(Graphs, ModesSayWhatIsForbiddenMeanwhile) {
  void* memory = nullptr;
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  cudaGraphExecDestroy(end());
  begin(cudaStreamCaptureModeThreadLocal);
  std::thread([&] { EXPECT_EQ(cudaFreeAsync(memory, b_), cudaSuccess); }).join();
  std::thread([&] { EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess); }).join();
  cudaGraphExecDestroy(end());
  begin(cudaStreamCaptureModeGlobal);
  std::thread([&] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
    void* more = nullptr;
    EXPECT_EQ(cudaMalloc(&more, 8), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(cudaFree(more), cudaErrorStreamCaptureUnsupported);
    cudaThreadExchangeStreamCaptureMode(&mode);
  }).join();
  end(cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(Graphs, ACaptureEndsWhereItBeganWithAllOfItJoined) {
  int x = 0;
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamBeginCapture(a_, static_cast<cudaStreamCaptureMode>(7)), cudaErrorInvalidValue);
  begin();
  EXPECT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
  ASSERT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, fork_, 0), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaStreamEndCapture(b_, &graph), cudaErrorStreamCaptureUnmatched);
  std::thread([&] {
    cudaGraph_t theirs = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(a_, &theirs), cudaErrorStreamCaptureWrongThread);
  }).join();
  ASSERT_EQ(enqueueAddOne(&x, b_), cudaSuccess);
  end(cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(statusOf(b_), cudaStreamCaptureStatusNone);
  EXPECT_EQ(cudaStreamWaitEvent(b_, fork_, 0), cudaErrorCapturedEvent) << "its capture is over";
}

TEST_F(Graphs, TwoCapturesDoNotBecomeOne) {
  begin();
  ASSERT_EQ(cudaStreamBeginCapture(b_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork_, b_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(a_, fork_, 0), cudaErrorStreamCaptureMerge);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(b_, &graph), cudaErrorStreamCaptureInvalidated);
  end(cudaErrorStreamCaptureInvalidated);
}

TEST_F(Graphs, TheDefaultStreamKeepsOutOfCaptures) {
  cudaStream_t blocking = nullptr;
  int x = 0;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaMemset(&x, 0, sizeof x), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaMemset(&x, 0, sizeof x), cudaSuccess);
  begin();
  EXPECT_EQ(cudaMemset(&x, 0, sizeof x), cudaSuccess) << "a_ does not wait for it";
  cudaGraphExecDestroy(end());
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess) << "ends its capture";
  EXPECT_EQ(cudaMemset(&x, 0, sizeof x), cudaSuccess);
}

TEST_F(Graphs, AnEmptyGraphCanBeLaunched) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphCreate(&graph, 1), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch),
            cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 4096), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(nullptr, a_), cudaErrorInvalidValue);
}

}  // namespace
