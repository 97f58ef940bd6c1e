// The sizes and offsets of the structures that programs compiled with CUDA's headers hand over, and functions by the
// names of CUDA 12 and 13: none writes beyond what such a program has.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "host/cuda_runtime.h"
#include "runtime/api/cuda_versions.h"

namespace {

using xylem::api::DeviceProperties13;

struct Place {
  const char* name;
  std::size_t here, published;
};
#define PLACE(STRUCTURE, FIELD, OFFSET) \
  Place { #STRUCTURE "." #FIELD, offsetof(STRUCTURE, FIELD), OFFSET }
#define SIZE(STRUCTURE, BYTES) \
  Place { "sizeof " #STRUCTURE, sizeof(STRUCTURE), BYTES }

TEST(Layouts, AreThePublishedOnes) {
  const Place places[] = {
      SIZE(cudaDeviceProp, 1032),
      PLACE(cudaDeviceProp, totalGlobalMem, 288),
      PLACE(cudaDeviceProp, clockRate, 348),
      PLACE(cudaDeviceProp, major, 360),
      PLACE(cudaDeviceProp, multiProcessorCount, 388),
      PLACE(cudaDeviceProp, pciBusID, 584),
      SIZE(DeviceProperties13, 1008),
      PLACE(DeviceProperties13, totalGlobalMem, 288),
      PLACE(DeviceProperties13, major, 360),
      PLACE(DeviceProperties13, textureAlignment, 368),
      PLACE(DeviceProperties13, multiProcessorCount, 384),
      SIZE(cudaPointerAttributes, 24),
      PLACE(cudaPointerAttributes, devicePointer, 8),
      SIZE(cudaFuncAttributes, 144),
      SIZE(cudaIpcMemHandle_t, 64),
      SIZE(cudaIpcEventHandle_t, 64),
      SIZE(cudaMemLocation, 8),
      SIZE(cudaGraphEdgeData, 8),
      SIZE(cudaUUID_t, 16),
      SIZE(dim3, 12),
  };
  for (const Place& place : places) EXPECT_EQ(place.here, place.published) << place.name;
}

#undef PLACE
#undef SIZE

// The function that the library has under a name.
template <typename Function>
Function* named(const char* name) {
  static void* const library = dlopen(XYLEM_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  void* const found = dlsym(library, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

// Asks by `name` for the properties as a `Structure`, and looks at the memory behind it.
template <typename Structure>
void expectFits(const char* name) {
  constexpr std::byte kUntouched{0x5a};
  struct {
    Structure properties;
    std::array<std::byte, 100> behind;
  } memory;
  std::memset(&memory, static_cast<int>(kUntouched), sizeof memory);
  auto* const ask = named<cudaError_t(Structure*, int)>(name);
  ASSERT_NE(ask, nullptr);
  ASSERT_EQ(ask(&memory.properties, 0), cudaSuccess);
  for (const std::byte byte : memory.behind) ASSERT_EQ(byte, kUntouched) << name;
  std::byte last;
  std::memcpy(&last, reinterpret_cast<const std::byte*>(&memory.behind) - 1, 1);
  EXPECT_NE(last, kUntouched) << name << " fills all";
  EXPECT_EQ(memory.properties.major, 9) << name;
}

TEST(Versions, DevicePropertiesFitTheStructureOfTheProgram) {
  expectFits<cudaDeviceProp>("cudaGetDeviceProperties_v2");
  expectFits<DeviceProperties13>("cudaGetDeviceProperties");
}

TEST(Versions, BothHaveTheSameValues) {
  cudaDeviceProp all;
  ASSERT_EQ(cudaGetDeviceProperties(&all, 0), cudaSuccess);
  const DeviceProperties13 newer = xylem::api::asOfCuda13(all);
  EXPECT_STREQ(newer.name, all.name);
  EXPECT_EQ(newer.multiProcessorCount, all.multiProcessorCount);
  EXPECT_EQ(newer.pciBusID, all.pciBusID);
  EXPECT_EQ(newer.hostNumaId, all.hostNumaId);
}

TEST(Versions, NamesOfChangedFunctions) {
  for (const char* name :
       {"cudaMemAdvise", "cudaMemAdvise_v2", "cudaMemPrefetchAsync", "cudaMemPrefetchAsync_v2",
        "cudaMemPrefetchAsync_v2_ptsz", "cudaStreamGetCaptureInfo", "cudaStreamGetCaptureInfo_v2",
        "cudaStreamGetCaptureInfo_v2_ptsz", "cudaStreamGetCaptureInfo_v3", "cudaStreamGetCaptureInfo_ptsz",
        "cudaGraphGetEdges", "cudaGraphGetEdges_v2", "cudaEventElapsedTime", "cudaEventElapsedTime_v2"})
    EXPECT_NE(named<void()>(name), nullptr);
  int runtime = 0, driver = 0;
  EXPECT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_EQ(runtime, CUDART_VERSION);
  EXPECT_GE(driver, runtime) << "a driver runs the programs of older runtimes";
}

TEST(Versions, ACaptureTellsItsGraphAndItsLatestNodes) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  std::array<char, 8> memory{};
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 9;
  EXPECT_EQ(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &count), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(memory.data(), 1, memory.size(), stream), cudaSuccess);
  EXPECT_EQ(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &count), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  ASSERT_EQ(count, 1u);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  EXPECT_EQ(cudaGraphNodeGetType(nodes[0], &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
