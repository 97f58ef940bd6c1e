// The host device under CUDA's runtime names.

#include "host/cuda_runtime.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "nccl.h"
#include "support/sanitizers.h"

namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::StrEq;

bool makeAndDestroyAnother() {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  return ncclGetUniqueId(&id) == ncclSuccess && ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess &&
         ncclCommDestroy(comm) == ncclSuccess && cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess;
}

// A static object of a program, whose destructor runs after main.
struct Cache {
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;
  ~Cache() {
    if (memory == nullptr) return;
    cudaStream_t later = nullptr;
    const bool works = cudaMemsetAsync(memory, 1, 64, stream) == cudaSuccess &&
                       ncclGroupStart() == ncclSuccess &&
                       ncclAllReduce(memory, memory, 16, ncclInt, ncclSum, comm, stream) == ncclSuccess &&
                       ncclGroupEnd() == ncclSuccess && cudaDeviceSynchronize() == cudaSuccess &&
                       cudaStreamCreate(&later) == cudaSuccess && cudaStreamDestroy(later) == cudaSuccess &&
                       ncclCommDestroy(comm) == ncclSuccess && cudaStreamDestroy(stream) == cudaSuccess &&
                       cudaFree(memory) == cudaSuccess && makeAndDestroyAnother() &&
                       ncclCommDestroy(nullptr) == ncclSuccess && ncclGroupEnd() == ncclInvalidUsage;
    if (!works) _exit(3);
  }
};

TEST(CudaRuntimeDeathTest, ServesDestructorsOfStaticObjects) {
  if (xylem::testing::kSanitized) GTEST_SKIP() << "leaks at exit are judged before these destructors";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static Cache cache;
        ncclUniqueId id;
        const bool works = cudaStreamCreate(&cache.stream) == cudaSuccess &&
                           ncclGetUniqueId(&id) == ncclSuccess &&
                           ncclCommInitRank(&cache.comm, 1, id, 0) == ncclSuccess &&
                           cudaMalloc(&cache.memory, 64) == cudaSuccess && makeAndDestroyAnother();
        exit(works ? 0 : 4);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(CudaRuntime, CountsAndChoosesDevices) {
  setenv("XYLEM_HOST_DEVICES", "3", 1);
  int count = 0, device = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 2);
  EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  cudaSetDevice(0);
  unsetenv("XYLEM_HOST_DEVICES");
}

// A number of CUDA's cannot name the variable. In a process of its own, as it is said once.
TEST(CudaRuntimeDeathTest, AVariableThatCannotBeUsedIsNamed) {
  if (xylem::testing::kThreadSanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow a fork of a process with threads";
  const std::string text = "environment: XYLEM_TIMEOUT: found `abc`; expected an integer";
  const auto child = [&] {
    setenv("XYLEM_TIMEOUT", "abc", 1);
    int count = 0;
    const bool refused =
        cudaGetDeviceCount(&count) == cudaErrorInvalidValue && cudaSetDevice(0) == cudaErrorInvalidValue;
    _exit(refused && std::string(ncclGetLastError(nullptr)).starts_with(text) ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0),
              AllOf(StartsWith("xylem: " + text), Not(HasSubstr("\nxylem:"))));
}

TEST(CudaRuntime, MemoryIsAlignedAndGivenBack) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 1000), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  EXPECT_EQ(cudaMemset(memory, 7, 1000), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 0), cudaSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(cudaMalloc(nullptr, 8), cudaErrorInvalidValue);
}

TEST(CudaRuntime, CopiesInEveryDirection) {
  for (int kind = cudaMemcpyHostToHost; kind <= cudaMemcpyDefault; ++kind) {
    int from = 5 + kind, to = 0;
    EXPECT_EQ(cudaMemcpy(&to, &from, sizeof to, static_cast<cudaMemcpyKind>(kind)), cudaSuccess);
    EXPECT_EQ(to, from);
  }
  int x = 0;
  EXPECT_EQ(cudaMemcpy(&x, nullptr, 4, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(&x, &x, 4, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault), cudaSuccess);
}

TEST(CudaRuntime, StreamsKeepTheirOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<char> a(1000, 'a'), b(1000, 'b'), c(1000, 'c');
  EXPECT_EQ(cudaMemcpyAsync(b.data(), a.data(), 1000, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(c.data(), b.data(), 1000, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(b.data(), 'z', 1000, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(c, Each('a'));
  EXPECT_THAT(b, Each('z'));
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// As with CUDA, a program may reuse its own memory once a copy to the device was enqueued.
TEST(CudaRuntime, ACopyFromTheProgramsMemoryIsTakenAtOnce) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  void *device = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 2000), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 1000), cudaSuccess);
  auto* bytes = static_cast<char*>(device);
  std::vector<char> mine(1000, 'a');
  std::memset(pinned, 'c', 1000);
  EXPECT_EQ(cudaMemcpyAsync(bytes, mine.data(), 1000, cudaMemcpyHostToDevice, stream), cudaSuccess);
  mine.assign(1000, 'b');
  EXPECT_EQ(cudaMemcpyAsync(bytes + 1000, pinned, 1000, cudaMemcpyHostToDevice, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(bytes[999], 'a');
  EXPECT_EQ(bytes[1999], 'c');
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CudaRuntime, ASynchronousCopyComesAfterTheStreamsOfTheDevice) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<char> a(1000, 'a'), b(1000, 'b'), c(1000, 'c');
  EXPECT_EQ(cudaMemcpyAsync(b.data(), a.data(), 1000, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(c.data(), b.data(), 1000, cudaMemcpyDefault), cudaSuccess);
  EXPECT_THAT(c, Each('a'));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CudaRuntime, TheDefaultStreamHasThreeNames) {
  for (const cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    int from = 9, to = 0;
    EXPECT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(to, 9);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  }
  EXPECT_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
}

TEST(CudaRuntime, EveryErrorHasWords) {
  for (const cudaError_t error :
       {cudaSuccess, cudaErrorInvalidValue, cudaErrorLaunchFailure, cudaErrorUnknown}) {
    EXPECT_THAT(cudaGetErrorString(error), Not(StrEq("")));
    EXPECT_THAT(cudaGetErrorName(error), Not(StrEq("")));
  }
  EXPECT_THAT(cudaGetErrorName(cudaErrorNotReady), StrEq("cudaErrorNotReady"));
  EXPECT_THAT(cudaGetErrorString(static_cast<cudaError_t>(12345)), StrEq("unknown error"));
}

TEST(CudaDevices, CachesAndFlushesMakeNoDifference) {
  cudaFuncCache cache = cudaFuncCachePreferEqual;
  EXPECT_EQ(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetCacheConfig(&cache), cudaSuccess);
  EXPECT_EQ(cache, cudaFuncCachePreferNone);
  cudaSharedMemConfig banks = cudaSharedMemBankSizeDefault;
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetSharedMemConfig(&banks), cudaSuccess);
  EXPECT_EQ(banks, cudaSharedMemBankSizeFourByte);
  EXPECT_EQ(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                               cudaFlushGPUDirectRDMAWritesToOwner),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGraphMemTrim(12345), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaThreadSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

}  // namespace
