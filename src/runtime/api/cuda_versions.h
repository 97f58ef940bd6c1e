#pragma once
// The structures of the CUDA runtime as CUDA 13 has them, where include/host has those of CUDA 12.
//
//   const DeviceProperties13 properties = asOfCuda13(ours);

#include "host/cuda_runtime.h"

// clang-format off
#define XYLEM_DEVICE_PROPERTIES_13(X) \
  X(char, name, [256]) X(cudaUUID_t, uuid, ) X(char, luid, [8]) X(unsigned, luidDeviceNodeMask, ) \
  X(size_t, totalGlobalMem, ) X(size_t, sharedMemPerBlock, ) X(int, regsPerBlock, ) X(int, warpSize, ) \
  X(size_t, memPitch, ) X(int, maxThreadsPerBlock, ) X(int, maxThreadsDim, [3]) X(int, maxGridSize, [3]) \
  X(size_t, totalConstMem, ) X(int, major, ) X(int, minor, ) X(size_t, textureAlignment, ) \
  X(size_t, texturePitchAlignment, ) X(int, multiProcessorCount, ) X(int, integrated, ) \
  X(int, canMapHostMemory, ) X(int, maxTexture1D, ) X(int, maxTexture1DMipmap, ) X(int, maxTexture2D, [2]) \
  X(int, maxTexture2DMipmap, [2]) X(int, maxTexture2DLinear, [3]) X(int, maxTexture2DGather, [2]) \
  X(int, maxTexture3D, [3]) X(int, maxTexture3DAlt, [3]) X(int, maxTextureCubemap, ) \
  X(int, maxTexture1DLayered, [2]) X(int, maxTexture2DLayered, [3]) X(int, maxTextureCubemapLayered, [2]) \
  X(int, maxSurface1D, ) X(int, maxSurface2D, [2]) X(int, maxSurface3D, [3]) X(int, maxSurface1DLayered, [2]) \
  X(int, maxSurface2DLayered, [3]) X(int, maxSurfaceCubemap, ) X(int, maxSurfaceCubemapLayered, [2]) \
  X(size_t, surfaceAlignment, ) X(int, concurrentKernels, ) X(int, ECCEnabled, ) X(int, pciBusID, ) \
  X(int, pciDeviceID, ) X(int, pciDomainID, ) X(int, tccDriver, ) X(int, asyncEngineCount, ) \
  X(int, unifiedAddressing, ) X(int, memoryBusWidth, ) X(int, l2CacheSize, ) X(int, persistingL2CacheMaxSize, ) \
  X(int, maxThreadsPerMultiProcessor, ) X(int, streamPrioritiesSupported, ) X(int, globalL1CacheSupported, ) \
  X(int, localL1CacheSupported, ) X(size_t, sharedMemPerMultiprocessor, ) X(int, regsPerMultiprocessor, ) \
  X(int, managedMemory, ) X(int, isMultiGpuBoard, ) X(int, multiGpuBoardGroupID, ) \
  X(int, hostNativeAtomicSupported, ) X(int, pageableMemoryAccess, ) X(int, concurrentManagedAccess, ) \
  X(int, computePreemptionSupported, ) X(int, canUseHostPointerForRegisteredMem, ) X(int, cooperativeLaunch, ) \
  X(size_t, sharedMemPerBlockOptin, ) X(int, pageableMemoryAccessUsesHostPageTables, ) \
  X(int, directManagedMemAccessFromHost, ) X(int, maxBlocksPerMultiProcessor, ) \
  X(int, accessPolicyMaxWindowSize, ) X(size_t, reservedSharedMemPerBlock, ) X(int, hostRegisterSupported, ) \
  X(int, sparseCudaArraySupported, ) X(int, hostRegisterReadOnlySupported, ) \
  X(int, timelineSemaphoreInteropSupported, ) X(int, memoryPoolsSupported, ) X(int, gpuDirectRDMASupported, ) \
  X(unsigned, gpuDirectRDMAFlushWritesOptions, ) X(int, gpuDirectRDMAWritesOrdering, ) \
  X(unsigned, memoryPoolSupportedHandleTypes, ) X(int, deferredMappingCudaArraySupported, ) \
  X(int, ipcEventSupported, ) X(int, clusterLaunch, ) X(int, unifiedFunctionPointers, ) \
  X(int, deviceNumaConfig, ) X(int, deviceNumaId, ) X(int, mpsEnabled, ) X(int, hostNumaId, ) \
  X(unsigned, gpuPciDeviceID, ) X(unsigned, gpuPciSubsystemID, ) X(int, hostNumaMultinodeIpcSupported, ) \
  X(int, reserved, [56])
// clang-format on

namespace xylem::api {

struct DeviceProperties13 {
#define XYLEM_FIELD(TYPE, NAME, LENGTH) TYPE NAME LENGTH;
  XYLEM_DEVICE_PROPERTIES_13(XYLEM_FIELD)
#undef XYLEM_FIELD
};
static_assert(sizeof(DeviceProperties13) == 1008);

DeviceProperties13 asOfCuda13(const cudaDeviceProp& from);

}  // namespace xylem::api
