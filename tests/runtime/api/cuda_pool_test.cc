// Memory pools: what they count, and what they do not do.

#include <gtest/gtest.h>

#include <cstdint>

#include "host/cuda_runtime.h"

namespace {

std::uint64_t valueOf(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  std::uint64_t value = ~std::uint64_t{0};
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, attribute, &value), cudaSuccess);
  return value;
}

class Pools : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess); }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    cudaGetLastError();
  }
  static cudaMemPoolProps properties(int device = 0) {
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location = {cudaMemLocationTypeDevice, device};
    return wanted;
  }
  cudaStream_t stream_ = nullptr;
};

TEST_F(Pools, ADeviceSaysThatItHasThem) {
  int has = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&has, cudaDevAttrMemoryPoolsSupported, 0), cudaSuccess);
  EXPECT_EQ(has, 1);
  cudaMemPool_t first = nullptr, current = nullptr;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&first, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(current, first);
  EXPECT_EQ(cudaMemPoolDestroy(first), cudaErrorInvalidValue) << "the default pool stays";
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&first, 12345), cudaErrorInvalidDevice);
}

TEST_F(Pools, CountsWhatIsAllocatedUntilTheStreamFreesIt) {
  const cudaMemPoolProps wanted = properties();
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaSuccess);
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&a, 1000, pool, stream_), cudaSuccess);
  ASSERT_EQ(cudaMallocFromPoolAsync(&b, 500, pool, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(a, 7, 1000, stream_), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemCurrent), 1500u);
  EXPECT_EQ(cudaFreeAsync(a, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemCurrent), 500u);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemHigh), 1500u);
  std::uint64_t zero = 0, other = 9;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &other), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemHigh), 500u);
  // Memory of a pool that is gone stays until it is freed, here by the call that knows no streams.
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  static_cast<char*>(b)[499] = 1;
  EXPECT_EQ(cudaFree(b), cudaSuccess);
  EXPECT_EQ(cudaFree(b), cudaErrorInvalidValue);
}

TEST_F(Pools, TheCurrentOneIsThatOfAllocationsInStreams) {
  const cudaMemPoolProps wanted = properties();
  cudaMemPool_t pool = nullptr, first = nullptr, current = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&first, 0), cudaSuccess);
  ASSERT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
  const std::uint64_t before = valueOf(first, cudaMemPoolAttrUsedMemCurrent);
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, 64, stream_), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemCurrent), 64u);
  EXPECT_EQ(valueOf(first, cudaMemPoolAttrUsedMemCurrent), before);
  EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, first);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
}

TEST_F(Pools, MemoryOfAGraphCountsUntilItIsFreed) {
  const cudaMemPoolProps wanted = properties();
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&memory, 64, pool, stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemCurrent), 64u);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST_F(Pools, ALimitHolds) {
  cudaMemPoolProps wanted = properties();
  wanted.maxSize = 100;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaSuccess);
  void *memory = nullptr, *more = &wanted;
  EXPECT_EQ(cudaMallocFromPoolAsync(&memory, 60, pool, stream_), cudaSuccess);
  EXPECT_EQ(cudaMallocFromPoolAsync(&more, 60, pool, stream_), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaMallocFromPoolAsync(&more, 60, pool, stream_), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST_F(Pools, AttributesAndAccess) {
  const cudaMemPoolProps wanted = properties();
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaSuccess);
  int reuse = 0;
  std::uint64_t threshold = 1 << 20;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse), cudaSuccess);
  reuse = 5;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse), cudaSuccess);
  EXPECT_EQ(reuse, 0);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrReleaseThreshold), std::uint64_t{1} << 20);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &threshold), cudaErrorInvalidValue);
  cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &access, 1), cudaSuccess);
  access.flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue) << "not its own device's";
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool, &access.location), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

TEST_F(Pools, WhatIsNotThere) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps wanted = properties();
  wanted.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaErrorNotSupported);
  EXPECT_EQ(pool, nullptr);
  wanted = properties(12345);
  EXPECT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaErrorInvalidDevice);
  int no = 0;
  EXPECT_EQ(cudaMemPoolDestroy(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolGetAttribute(nullptr, cudaMemPoolAttrReleaseThreshold, &no), cudaErrorInvalidValue);
}

}  // namespace
