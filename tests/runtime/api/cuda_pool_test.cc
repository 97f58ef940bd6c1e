// Memory pools: what they count, and what they do not do.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "host/cuda_runtime.h"
#include "runtime/api/other_process.h"

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
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrReservedMemHigh), 1500u) << "each mark is reset alone";
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero), cudaSuccess);
  EXPECT_EQ(valueOf(pool, cudaMemPoolAttrReservedMemHigh), 500u);
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
  wanted.handleTypes = cudaMemHandleTypeFabric;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaErrorNotSupported);
  EXPECT_EQ(pool, nullptr);
  wanted = properties(12345);
  EXPECT_EQ(cudaMemPoolCreate(&pool, &wanted), cudaErrorInvalidDevice);
  int no = 0;
  EXPECT_EQ(cudaMemPoolDestroy(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolGetAttribute(nullptr, cudaMemPoolAttrReleaseThreshold, &no), cudaErrorInvalidValue);
}

constexpr const char* kPoolVariable = "XYLEM_TEST_SHARED_POOL";
constexpr std::size_t kPooledBytes = 100000;

class SharedPools : public Pools {
 protected:
  void SetUp() override {
    Pools::SetUp();
    cudaMemPoolProps wanted = properties();
    wanted.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    ASSERT_EQ(cudaMemPoolCreate(&pool_, &wanted), cudaSuccess);
    ASSERT_EQ(cudaMallocFromPoolAsync(&memory_, kPooledBytes, pool_, stream_), cudaSuccess);
    ASSERT_EQ(cudaMemPoolExportToShareableHandle(&file_, pool_, cudaMemHandleTypePosixFileDescriptor, 0),
              cudaSuccess);
    ASSERT_EQ(cudaMemPoolExportPointer(&name_, memory_), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaFreeAsync(memory_, stream_), cudaSuccess);
    EXPECT_EQ(cudaMemPoolDestroy(pool_), cudaSuccess);
    close(file_);
    Pools::TearDown();
  }
  static cudaMemPool_t imported(int file) {
    cudaMemPool_t theirs = nullptr;
    EXPECT_EQ(cudaMemPoolImportFromShareableHandle(&theirs, reinterpret_cast<void*>(std::intptr_t{file}),
                                                   cudaMemHandleTypePosixFileDescriptor, 0),
              cudaSuccess);
    return theirs;
  }

  cudaMemPool_t pool_ = nullptr;
  void* memory_ = nullptr;
  int file_ = -1;
  cudaMemPoolPtrExportData name_{};
};

TEST_F(SharedPools, AnotherProcessWritesIntoMemoryOfThePool) {
  ASSERT_EQ(cudaMemsetAsync(memory_, 'a', kPooledBytes, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  ASSERT_EQ(fcntl(file_, F_SETFD, 0), 0);
  EXPECT_EQ(
      xylem::testing::runOtherProcess("Pools.DISABLED_ThePeer", kPoolVariable,
                                      std::to_string(file_) + ":" + xylem::testing::hexOf(name_.reserved)),
      0);
  EXPECT_EQ(static_cast<char*>(memory_)[0], 'b');
  EXPECT_EQ(static_cast<char*>(memory_)[kPooledBytes - 1], 'z');
}

// The other process, which only AnotherProcessWritesIntoMemoryOfThePool starts.
TEST_F(Pools, DISABLED_ThePeer) {
  const char* const words = std::getenv(kPoolVariable);
  ASSERT_NE(words, nullptr);
  char* rest = nullptr;
  const long file = std::strtol(words, &rest, 10);
  cudaMemPoolPtrExportData name{};
  xylem::testing::bytesOf(rest + 1, name.reserved);

  cudaMemPool_t theirs = nullptr;
  ASSERT_EQ(cudaMemPoolImportFromShareableHandle(&theirs, reinterpret_cast<void*>(file),
                                                 cudaMemHandleTypePosixFileDescriptor, 0),
            cudaSuccess);
  void *memory = nullptr, *again = nullptr, *none = &memory;
  ASSERT_EQ(cudaMemPoolImportPointer(&memory, theirs, &name), cudaSuccess);
  ASSERT_EQ(cudaMemPoolImportPointer(&again, theirs, &name), cudaSuccess);
  EXPECT_EQ(valueOf(theirs, cudaMemPoolAttrUsedMemCurrent), 2 * kPooledBytes);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(memory) + 5), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(cudaMallocFromPoolAsync(&none, 64, theirs, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaDeviceSetMemPool(0, theirs), cudaErrorInvalidValue);

  auto* const bytes = static_cast<char*>(memory);
  EXPECT_EQ(bytes[kPooledBytes / 2], 'a');
  EXPECT_EQ(cudaMemsetAsync(bytes, 'b', 1, stream_), cudaSuccess);
  static_cast<char*>(again)[kPooledBytes - 1] = 'z';
  EXPECT_EQ(cudaFree(again), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(valueOf(theirs, cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(cudaMemPoolDestroy(theirs), cudaSuccess);
}

TEST_F(SharedPools, NamesAreOfOnePool) {
  cudaMemPool_t theirs = imported(file_);
  ASSERT_NE(theirs, nullptr);
  void *memory = nullptr, *mine = nullptr;
  EXPECT_EQ(cudaMemPoolImportPointer(&memory, pool_, &name_), cudaErrorInvalidValue) << "its own pool";
  cudaMemPoolPtrExportData other = name_;
  other.reserved[63] ^= 1;
  EXPECT_EQ(cudaMemPoolImportPointer(&memory, theirs, &other), cudaErrorInvalidValue) << "another pool's";
  EXPECT_EQ(cudaMemPoolImportPointer(&memory, theirs, &name_), cudaSuccess) << "in this process, too";
  static_cast<char*>(memory)[7] = 'q';
  EXPECT_EQ(static_cast<char*>(memory_)[7], 'q');
  EXPECT_EQ(cudaMemPoolDestroy(theirs), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess) << "memory stays until it is freed";

  EXPECT_EQ(cudaMalloc(&mine, 64), cudaSuccess);
  EXPECT_EQ(cudaMemPoolExportPointer(&other, mine), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(mine), cudaSuccess);
}

TEST_F(SharedPools, OnlyTheFileOfAPoolIsOne) {
  const cudaMemPoolProps wanted = properties();
  cudaMemPool_t alone = nullptr, theirs = nullptr;
  int file = -1, has = 0;
  ASSERT_EQ(cudaMemPoolCreate(&alone, &wanted), cudaSuccess);
  EXPECT_EQ(cudaMemPoolExportToShareableHandle(&file, alone, cudaMemHandleTypePosixFileDescriptor, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolExportToShareableHandle(&file, pool_, cudaMemHandleTypeWin32, 0),
            cudaErrorNotSupported);
  EXPECT_EQ(cudaMemPoolDestroy(alone), cudaSuccess);
  file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(cudaMemPoolImportFromShareableHandle(&theirs, reinterpret_cast<void*>(std::intptr_t{file}),
                                                 cudaMemHandleTypePosixFileDescriptor, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(theirs, nullptr);
  close(file);
  char byte = 0;
  EXPECT_LT(pwrite(file_, &byte, 1, 0), 0) << "nobody changes what the file says";
  EXPECT_EQ(cudaDeviceGetAttribute(&has, cudaDevAttrMemoryPoolSupportedHandleTypes, 0), cudaSuccess);
  EXPECT_EQ(has, cudaMemHandleTypePosixFileDescriptor);
}

}  // namespace
