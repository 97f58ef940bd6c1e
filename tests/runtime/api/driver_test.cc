// host/cuda.h, as plugins and programs use it beside the runtime.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "host/cuda.h"
#include "host/cuda_runtime.h"

namespace {

class Driver : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XYLEM_HOST_DEVICES", "2", 1);
    cudaGetLastError();  // of tests before
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the driver's errors are not the runtime's";
    unsetenv("XYLEM_HOST_DEVICES");
  }
};

TEST_F(Driver, ErrorsHaveNames) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, cudaGetErrorString(cudaErrorMemoryAllocation));
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, Devices) {
  int count = 0, value = 0, version = 0;
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_GE(version, CUDA_VERSION);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  char busId[32], expected[32];
  EXPECT_EQ(cuDeviceGetPCIBusId(busId, sizeof busId, 1), CUDA_SUCCESS);
  EXPECT_EQ(cudaDeviceGetPCIBusId(expected, sizeof expected, 1), cudaSuccess);
  EXPECT_STREQ(busId, expected);
  CUuuid first, second;
  EXPECT_EQ(cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetUuid(&second, 1), CUDA_SUCCESS);
  EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
}

TEST_F(Driver, AContextIsADevice) {
  CUcontext first = nullptr, second = nullptr, current = nullptr, made = nullptr;
  CUdevice device = -1;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(second), CUDA_SUCCESS);
  int ofRuntime = -1;
  EXPECT_EQ(cudaGetDevice(&ofRuntime), cudaSuccess);
  EXPECT_EQ(ofRuntime, 1);
  EXPECT_EQ(cuCtxPushCurrent(first), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxPopCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, first);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, second);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, first) << "the runtime's device is the current one";
  std::thread([&] {
    EXPECT_EQ(cuCtxPopCurrent(&current), CUDA_ERROR_INVALID_CONTEXT) << "each thread has its own";
  }).join();
  EXPECT_EQ(cuCtxCreate(&made, 0, 1), CUDA_SUCCESS);
  EXPECT_NE(made, second);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, made);
  EXPECT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
  for (const CUdevice each : {0, 1}) EXPECT_EQ(cuDevicePrimaryCtxRelease(each), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
}

TEST_F(Driver, MemoryAndItsAttributes) {
  CUdeviceptr memory = 0, start = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetAddressRange(&start, &bytes, memory + 100), CUDA_SUCCESS);
  EXPECT_EQ(start, memory);
  EXPECT_EQ(bytes, 4096u);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  int own = 0;
  EXPECT_EQ(
      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&own)),
      CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  int device = 7;
  void* values[] = {&type, &device};
  EXPECT_EQ(cuPointerGetAttributes(2, attributes, values, reinterpret_cast<CUdeviceptr>(&own)), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(device, CU_DEVICE_INVALID);
  EXPECT_EQ(cuMemsetD32(memory, 0x01020304, 1024), CUDA_SUCCESS);
  std::vector<unsigned> copy(1024);
  EXPECT_EQ(cuMemcpyDtoH(copy.data(), memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(copy.back(), 0x01020304u);
  EXPECT_EQ(cuMemsetD32(memory + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, StreamsWriteAndAwaitValues) {
  CUstream writer = nullptr, waiter = nullptr;
  ASSERT_EQ(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&waiter, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUdeviceptr words = 0;
  ASSERT_EQ(cuMemAlloc(&words, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8(words, 0, 64), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(waiter, words, 5, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64(waiter, words + 8, 1, CU_STREAM_WRITE_VALUE_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(waiter), CUDA_ERROR_NOT_READY);
  CUstreamBatchMemOpParams operations[2]{};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = words;
  operations[0].writeValue.value = 6;
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operations[1].waitValue.address = words + 8;
  operations[1].waitValue.value64 = 1;
  operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  EXPECT_EQ(cuStreamBatchMemOp(writer, 2, operations, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(writer), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(waiter), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(waiter, words + 1, 0, CU_STREAM_WAIT_VALUE_EQ), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(words), CUDA_SUCCESS);
  for (const CUstream stream : {writer, waiter}) EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(Driver, MappedMemoryIsSharedByItsFileDescriptor) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t grain = 0;
  ASSERT_EQ(cuMemGetAllocationGranularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            CUDA_SUCCESS);
  CUmemGenericAllocationHandle handle = 0, imported = 0, retained = 0;
  EXPECT_EQ(cuMemCreate(&handle, grain + 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemCreate(&handle, 2 * grain, &properties, 0), CUDA_SUCCESS);
  CUdeviceptr range = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 4 * grain, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(range % grain, 0u);
  ASSERT_EQ(cuMemMap(range, 2 * grain, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(range + grain, grain, 0, handle, 0), CUDA_ERROR_INVALID_VALUE) << "there is a mapping";
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ASSERT_EQ(cuMemSetAccess(range, 2 * grain, &access, 1), CUDA_SUCCESS);
  int file = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  void* const descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  ASSERT_EQ(cuMemImportFromShareableHandle(&imported, descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(close(file), 0);
  // The second half of the same memory, at another address.
  ASSERT_EQ(cuMemMap(range + 3 * grain, grain, grain, imported, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(range + 3 * grain, grain, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(range, 7, 2 * grain), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<const char*>(range + 4 * grain - 1), 7);
  EXPECT_EQ(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(range + 5)), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range + 5), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  for (const auto each : {handle, imported, retained}) EXPECT_EQ(cuMemRelease(each), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(*reinterpret_cast<const char*>(range), 7) << "the mapping keeps the memory";
  EXPECT_EQ(cuMemAddressFree(range, 4 * grain), CUDA_ERROR_INVALID_VALUE) << "memory is mapped there";
  EXPECT_EQ(cuMemUnmap(range, grain), CUDA_ERROR_INVALID_VALUE) << "half of a mapping";
  EXPECT_EQ(cuMemUnmap(range, 2 * grain), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(range + 3 * grain, grain), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 4 * grain), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, FunctionsByName) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  EXPECT_EQ(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(cuMemAlloc_v2));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(cuGetProcAddress("cuNoSuch", &function, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  EXPECT_EQ(cudaGetDriverEntryPoint("cuMemCreate", &function, cudaEnableDefault, &found), cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(cuMemCreate));
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuCtxCreate", &function, 13000, cudaEnableDefault),
            cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(cuCtxCreate_v4));
  EXPECT_EQ(cudaGetDriverEntryPoint("cuNoSuch", &function, cudaEnableDefault, &found), cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSymbolNotFound);
  // Programs link, or look up, the names of CUDA 12's and 13's headers.
  void* const library = dlopen(XYLEM_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* name : {"cuInit", "cuMemAlloc_v2", "cuDeviceGetUuid", "cuDeviceGetUuid_v2",
                           "cuCtxCreate_v2", "cuGetProcAddress_v2", "cuDevicePrimaryCtxRelease_v2"})
    EXPECT_NE(dlsym(library, name), nullptr) << name;
  EXPECT_EQ(dlclose(library), 0);
}

TEST_F(Driver, ThereAreNoKernels) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, ""), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
