// Memory under CUDA's runtime names, small floats in C++ programs, and the runtime in a C program.

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "nccl.h"

extern "C" int runCudaProgramInC(void);

namespace {

TEST(CudaMemory, ACProgramRuns) { EXPECT_EQ(runCudaProgramInC(), 0) << "the line of cuda_c99.c"; }

cudaPointerAttributes attributesOf(const void* pointer) {
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
  return attributes;
}

TEST(CudaMemory, EveryPointerTellsWhatItPointsInto) {
  char own = 0;
  char *device = nullptr, *host = nullptr, *managed = nullptr;
  void* nccl = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 1000), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 1000), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 1000), cudaSuccess);
  ASSERT_EQ(ncclMemAlloc(&nccl, 1000), ncclSuccess);
  EXPECT_EQ(attributesOf(device + 999).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributesOf(device + 999).devicePointer, device + 999);
  EXPECT_EQ(attributesOf(device).hostPointer, nullptr);
  EXPECT_EQ(attributesOf(host).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributesOf(host + 5).hostPointer, host + 5);
  EXPECT_EQ(attributesOf(managed).type, cudaMemoryTypeManaged);
  EXPECT_EQ(attributesOf(nccl).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributesOf(nccl).device, 0);
  EXPECT_EQ(attributesOf(&own).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributesOf(&own).device, cudaInvalidDeviceId);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 1000, 0), cudaSuccess);
  EXPECT_EQ(cudaMemAdvise(managed, 1000, cudaMemAdviseSetReadMostly, cudaCpuDeviceId), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(device, 1000, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(attributesOf(device).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(ncclMemFree(nccl), ncclSuccess);
}

TEST(CudaMemory, MemoryOfTheProgramIsRegisteredOnce) {
  std::vector<char> mine(1000);
  ASSERT_EQ(cudaHostRegister(mine.data(), 500, cudaHostRegisterPortable), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(mine.data() + 400, 500, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(attributesOf(mine.data() + 499).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributesOf(mine.data() + 500).type, cudaMemoryTypeUnregistered);
  void* there = nullptr;
  unsigned flags = 0;
  EXPECT_EQ(cudaHostGetDevicePointer(&there, mine.data() + 3, 0), cudaSuccess);
  EXPECT_EQ(there, mine.data() + 3);
  EXPECT_EQ(cudaHostGetFlags(&flags, mine.data()), cudaSuccess);
  EXPECT_TRUE((flags & cudaHostAllocMapped) != 0);
  EXPECT_EQ(cudaFreeHost(mine.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(mine.data() + 3), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostUnregister(mine.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(mine.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostRegister(nullptr, 500, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(mine.data(), 500, 512), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostGetDevicePointer(&there, mine.data(), 0), cudaErrorInvalidValue);
}

TEST(CudaMemory, MemoryOfAStreamGoesInItsOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  int *data = nullptr, result = 0, seven = 7;
  ASSERT_EQ(cudaMallocAsync(&data, sizeof *data, stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(data, &seven, sizeof seven, cudaMemcpyDefault, stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&result, data, sizeof seven, cudaMemcpyDefault, stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(result, 7);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(&seven, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CudaMemory, RowsAreCopiedAndSet) {
  char* rows = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&rows, &pitch, 5, 3), cudaSuccess);
  EXPECT_GE(pitch, 5u);
  char packed[] = "abcdefghijklmno", back[16] = {};
  ASSERT_EQ(cudaMemset2D(rows, pitch, '-', 5, 3), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(rows, pitch, packed, 5, 4, 3, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DAsync(back, 5, rows, pitch, 5, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_STREQ(back, "abcd-fghi-klmn-");
  EXPECT_EQ(cudaMemcpy2D(rows, 3, packed, 5, 4, 3, cudaMemcpyDefault), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemset2D(rows, 3, 0, 5, 3), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaFree(rows), cudaSuccess);
}

TEST(CudaMemory, DevicesReachEachOther) {
  setenv("XYLEM_HOST_DEVICES", "2", 1);
  int can = 0, a = 5, b = 0, device = -1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpyPeer(&b, 1, &a, 0, sizeof a), cudaSuccess);
  EXPECT_EQ(b, 5);
  EXPECT_EQ(cudaMemcpyPeer(&b, 2, &a, 0, sizeof a), cudaErrorInvalidDevice);
  char id[16];
  ASSERT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, 1), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, id), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, "0000:00:00.0"), cudaErrorInvalidDevice);
  unsetenv("XYLEM_HOST_DEVICES");
}

TEST(CudaMemory, AttributesAreThoseOfTheProperties) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 0), cudaSuccess);
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), properties.major);
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), properties.multiProcessorCount);
  EXPECT_EQ(attribute(cudaDevAttrUnifiedAddressing), 1);
  EXPECT_EQ(attribute(cudaDevAttrMaxTexture1DWidth), 0) << "no meaning here";
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaRuntimeGetVersion(&value), cudaSuccess);
  EXPECT_EQ(value, CUDART_VERSION);
}

TEST(CudaMemory, SmallFloatsRoundToTheNearest) {
  EXPECT_EQ(half(1.0f).__x, 0x3c00);
  EXPECT_EQ(half(1.0f + 1.0f / 2048).__x, 0x3c00) << "a tie goes to even";
  EXPECT_EQ(half(1.0f + 3.0f / 2048).__x, 0x3c02);
  EXPECT_EQ(half(65520.0f).__x, 0x7c00) << "too large";
  EXPECT_EQ(static_cast<float>(half(-1.0f / 16777216)), -1.0f / 16777216) << "the smallest there is";
  EXPECT_EQ(__nv_bfloat16(-2.5f).__x, 0xc020);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e4m3(1000.0f)), 448.0f);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e5m2(0.25f)), 0.25f);
}

}  // namespace
