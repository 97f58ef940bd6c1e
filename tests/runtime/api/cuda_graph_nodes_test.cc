// Graphs that a program builds node by node, extends by a capture and changes once they are ready to be launched.

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "host/cuda_runtime.h"
#include "nccl.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BuiltGraphs : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
  }
  void TearDown() override {
    if (graph_ != nullptr) {
      EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    cudaGetLastError();
  }
  void launch(cudaGraphExec_t exec) {
    ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  cudaGraphExec_t ready() {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph_, 0ull), cudaSuccess);
    return exec;
  }
  cudaGraphNode_t host(std::vector<cudaGraphNode_t> after, cudaHostFn_t function, void* argument) {
    const cudaHostNodeParams parameters{function, argument};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddHostNode(&node, graph_, after.data(), after.size(), &parameters), cudaSuccess);
    return node;
  }

  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
};

struct Trace {
  std::mutex mutex;
  std::vector<int> calls;
};
Trace trace;
template <int kNumber>
void call(void*) {
  const std::lock_guard lock(trace.mutex);
  trace.calls.push_back(kNumber);
}

TEST_F(BuiltGraphs, NodesRunBehindThoseOnWhichTheyDepend) {
  // 0 -> (1, 2) -> 3, with 2 behind 1 by a dependency of its own.
  trace.calls.clear();
  const cudaGraphNode_t zero = host({}, call<0>, nullptr);
  const cudaGraphNode_t one = host({zero}, call<1>, nullptr);
  cudaGraphNode_t two = host({zero}, call<2>, nullptr);
  host({one, two}, call<3>, nullptr);
  EXPECT_EQ(cudaGraphAddDependencies(graph_, &one, &two, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphAddDependencies(graph_, &one, &two, 1), cudaErrorInvalidValue) << "there is one";
  EXPECT_EQ(cudaGraphAddDependencies(graph_, &two, &one, 1), cudaErrorNotSupported);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("added after it"));
  const cudaGraphExec_t exec = ready();
  launch(exec);
  launch(exec);
  EXPECT_THAT(trace.calls, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

TEST_F(BuiltGraphs, EveryKindOfNode) {
  std::vector<int> from(4, 7), to(4);
  std::vector<std::uint16_t> shorts(8);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  cudaGraphNode_t set = nullptr, copy = nullptr, record = nullptr, wait = nullptr, empty = nullptr,
                  child = nullptr;
  cudaMemsetParams values{shorts.data(), 8, 0x1234, 2, 3, 2};
  ASSERT_EQ(cudaGraphAddMemsetNode(&set, graph_, nullptr, 0, &values), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy, graph_, &set, 1, to.data(), from.data(), 8, cudaMemcpyDefault),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddEventRecordNode(&record, graph_, &copy, 1, event), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEventWaitNode(&wait, graph_, &record, 1, event), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&empty, graph_, &wait, 1), cudaSuccess);
  cudaGraph_t inner = nullptr;
  ASSERT_EQ(cudaGraphCreate(&inner, 0), cudaSuccess);
  cudaMemcpy3DParms box{};
  box.srcPtr = {from.data(), 8, 8, 1};
  box.dstPtr = {to.data() + 2, 8, 8, 1};
  box.extent = {8, 1, 1};
  box.kind = cudaMemcpyDefault;
  cudaGraphNode_t last = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode(&last, inner, nullptr, 0, &box), cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&child, graph_, &empty, 1, inner), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(inner), cudaSuccess) << "the node has its own";
  std::vector<cudaGraphNodeType> types;
  for (const cudaGraphNode_t node : {set, copy, record, wait, empty, child}) {
    cudaGraphNodeType type = cudaGraphNodeTypeKernel;
    EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    types.push_back(type);
  }
  EXPECT_THAT(types,
              ElementsAre(cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeEventRecord,
                          cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeEmpty, cudaGraphNodeTypeGraph));
  const cudaGraphExec_t exec = ready();
  EXPECT_EQ(to[0], 0);
  launch(exec);
  EXPECT_THAT(to, ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(shorts, ElementsAre(0x1234, 0x1234, 0x1234, 0, 0x1234, 0x1234, 0x1234, 0));
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  // Faults.
  values.elementSize = 3;
  EXPECT_EQ(cudaGraphAddMemsetNode(&set, graph_, nullptr, 0, &values), cudaErrorInvalidValue);
  EXPECT_EQ(set, nullptr);
  EXPECT_EQ(cudaGraphAddEmptyNode(&empty, graph_, &last, 1), cudaErrorInvalidValue) << "of another graph";
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(BuiltGraphs, ACaptureGoesOnInAGraph) {
  trace.calls.clear();
  const cudaGraphNode_t zero = host({}, call<0>, nullptr);
  ASSERT_EQ(
      cudaStreamBeginCaptureToGraph(stream_, graph_, &zero, nullptr, 1, cudaStreamCaptureModeThreadLocal),
      cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(stream_, call<1>, nullptr), cudaSuccess);
  // A node that the program adds meanwhile, behind which the stream goes on.
  const cudaGraphNode_t* latest = nullptr;
  size_t count = 0;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamGetCaptureInfo(stream_, &status, nullptr, &captured, &latest, &count), cudaSuccess);
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t two = host({latest[0]}, call<2>, nullptr);
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(stream_, &two, 1, cudaStreamSetCaptureDependencies),
            cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(stream_, call<3>, nullptr), cudaSuccess);
  cudaGraph_t ended = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &ended), cudaSuccess);
  EXPECT_EQ(ended, graph_);
  EXPECT_EQ(cudaStreamUpdateCaptureDependencies(stream_, &two, 1, cudaStreamSetCaptureDependencies),
            cudaErrorIllegalState);
  const cudaGraphExec_t exec = ready();
  launch(exec);
  EXPECT_THAT(trace.calls, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

TEST_F(BuiltGraphs, ACaptureThatIsLostLeavesNothingBehind) {
  for (int round = 0; round < 3; ++round) {
    cudaGraph_t mine = nullptr, ended = nullptr;
    ASSERT_EQ(cudaGraphCreate(&mine, 0), cudaSuccess);
    ASSERT_EQ(
        cudaStreamBeginCaptureToGraph(stream_, mine, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &ended), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaGraphDestroy(mine), cudaSuccess);
    // A graph of the capture's own may have the address of the last one.
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream_, &ended), cudaSuccess);
    size_t count = 9;
    EXPECT_EQ(cudaGraphGetNodes(ended, nullptr, &count), cudaSuccess);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(cudaGraphDestroy(ended), cudaSuccess);
  }
}

TEST_F(BuiltGraphs, AnUpdateTakesTheNewWorkOfTheSameShape) {
  trace.calls.clear();
  host({host({}, call<0>, nullptr)}, call<1>, nullptr);
  const cudaGraphExec_t exec = ready();
  cudaGraph_t other = nullptr;
  ASSERT_EQ(cudaGraphCreate(&other, 0), cudaSuccess);
  std::swap(graph_, other);
  const cudaGraphNode_t first = host({}, call<5>, nullptr);
  host({first}, call<6>, nullptr);
  cudaGraphExecUpdateResultInfo info{};
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph_, &info), cudaSuccess);
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  launch(exec);
  EXPECT_THAT(trace.calls, ElementsAre(5, 6));
  // One node more.
  cudaGraphNode_t empty = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&empty, graph_, nullptr, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph_, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_EQ(info.errorNode, empty);
  launch(exec);
  EXPECT_THAT(trace.calls, ElementsAre(5, 6, 5, 6));
  // Another type.
  cudaGraph_t third = nullptr;
  ASSERT_EQ(cudaGraphCreate(&third, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&empty, third, nullptr, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphExecUpdate(exec, third, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
  unsigned long long flags = 9;
  EXPECT_EQ(cudaGraphExecGetFlags(exec, &flags), cudaSuccess);
  EXPECT_EQ(flags, 0u);
  for (const cudaGraph_t graph : {other, third}) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

void countEnd(void* counter) { ++*static_cast<int*>(counter); }

TEST_F(BuiltGraphs, ObjectsOfTheProgramLiveAsLongAsTheGraph) {
  int ended = 0;
  cudaUserObject_t object = nullptr;
  EXPECT_EQ(cudaUserObjectCreate(&object, &ended, countEnd, 1, 0), cudaErrorInvalidValue)
      << "without its flag";
  ASSERT_EQ(cudaUserObjectCreate(&object, &ended, countEnd, 1, cudaUserObjectNoDestructorSync), cudaSuccess);
  EXPECT_EQ(cudaUserObjectRetain(object, 2), cudaSuccess);
  EXPECT_EQ(cudaUserObjectRelease(object, 2), cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, object, 1, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphReleaseUserObject(graph_, object, 3), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphReleaseUserObject(graph_, object, 1), cudaSuccess);
  host({}, call<0>, nullptr);
  const cudaGraphExec_t exec = ready();
  EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  graph_ = nullptr;
  EXPECT_EQ(ended, 0) << "what is launched still has it";
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(ended, 1);
}

TEST_F(BuiltGraphs, CopiesAndDrawings) {
  const cudaGraphNode_t first = host({}, call<0>, nullptr);
  host({first}, call<1>, nullptr);
  cudaGraph_t clone = nullptr;
  ASSERT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  cudaGraphNode_t twin = nullptr;
  EXPECT_EQ(cudaGraphNodeFindInClone(&twin, first, clone), cudaSuccess);
  EXPECT_NE(twin, nullptr);
  EXPECT_NE(twin, first);
  const std::string file = ::testing::TempDir() + "graph_nodes_test.dot";
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, file.c_str(), 0), cudaSuccess);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("n0 -> n1;"));
  std::filesystem::remove(file);
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, "/no/such/folder/file", 0), cudaErrorOperatingSystem);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
}

// Functions that binaries ask the loader for, and that answer why they are not there.
TEST(Absent, FunctionsSayWhatIsMissing) {
  void* const library = dlopen(XYLEM_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto lastError = reinterpret_cast<decltype(&ncclGetLastError)>(dlsym(library, "ncclGetLastError"));
  for (const char* name :
       {"cudaMallocArray", "cudaCreateTextureObject", "cudaGraphAddNode", "cudaLibraryLoadData",
        "cudaImportExternalMemory", "cudaMemRangeGetAttribute", "cudaStreamSetAttribute", "cuMulticastCreate",
        "cuLinkCreate_v2", "cuModuleLoadDataEx"}) {
    const auto function = reinterpret_cast<int (*)()>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
    EXPECT_EQ(function(), cudaErrorNotSupported) << name;
    EXPECT_THAT(lastError(nullptr), HasSubstr(std::string(name) + ": host devices have no ")) << name;
  }
}

}  // namespace
