// host/cuda_runtime_api.h: what a device is, as a structure and by number.

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/device_facts.h"
#include "runtime/api/raw_value.h"

using namespace xylem;

namespace {

// The largest number of an attribute.
constexpr int kLastAttribute = cudaDevAttrOnlyPartialHostNativeAtomicSupported;

// What has no field of its own is 0.
int attributeOf(const cudaDeviceProp& known, int attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return known.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return known.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
      return known.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
      return known.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return known.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return known.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
      return known.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(known.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(known.totalConstMem);
    case cudaDevAttrWarpSize:
      return known.warpSize;
    case cudaDevAttrMaxPitch:
      return static_cast<int>(known.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return known.regsPerBlock;
    case cudaDevAttrClockRate:
      return known.clockRate;
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(known.textureAlignment);
    case cudaDevAttrGpuOverlap:
      return known.deviceOverlap;
    case cudaDevAttrMultiProcessorCount:
      return known.multiProcessorCount;
    case cudaDevAttrKernelExecTimeout:
      return known.kernelExecTimeoutEnabled;
    case cudaDevAttrIntegrated:
      return known.integrated;
    case cudaDevAttrCanMapHostMemory:
      return known.canMapHostMemory;
    case cudaDevAttrComputeMode:
      return known.computeMode;
    case cudaDevAttrSurfaceAlignment:
      return static_cast<int>(known.surfaceAlignment);
    case cudaDevAttrConcurrentKernels:
      return known.concurrentKernels;
    case cudaDevAttrEccEnabled:
      return known.ECCEnabled;
    case cudaDevAttrPciBusId:
      return known.pciBusID;
    case cudaDevAttrPciDeviceId:
      return known.pciDeviceID;
    case cudaDevAttrTccDriver:
      return known.tccDriver;
    case cudaDevAttrMemoryClockRate:
      return known.memoryClockRate;
    case cudaDevAttrGlobalMemoryBusWidth:
      return known.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
      return known.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return known.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount:
      return known.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing:
      return known.unifiedAddressing;
    case cudaDevAttrPciDomainId:
      return known.pciDomainID;
    case cudaDevAttrTexturePitchAlignment:
      return static_cast<int>(known.texturePitchAlignment);
    case cudaDevAttrComputeCapabilityMajor:
      return known.major;
    case cudaDevAttrComputeCapabilityMinor:
      return known.minor;
    case cudaDevAttrStreamPrioritiesSupported:
      return known.streamPrioritiesSupported;
    case cudaDevAttrGlobalL1CacheSupported:
      return known.globalL1CacheSupported;
    case cudaDevAttrLocalL1CacheSupported:
      return known.localL1CacheSupported;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(known.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return known.regsPerMultiprocessor;
    case cudaDevAttrManagedMemory:
      return known.managedMemory;
    case cudaDevAttrIsMultiGpuBoard:
      return known.isMultiGpuBoard;
    case cudaDevAttrMultiGpuBoardGroupID:
      return known.multiGpuBoardGroupID;
    case cudaDevAttrHostNativeAtomicSupported:
      return known.hostNativeAtomicSupported;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return known.singleToDoublePrecisionPerfRatio;
    case cudaDevAttrPageableMemoryAccess:
      return known.pageableMemoryAccess;
    case cudaDevAttrConcurrentManagedAccess:
      return known.concurrentManagedAccess;
    case cudaDevAttrComputePreemptionSupported:
      return known.computePreemptionSupported;
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return known.canUseHostPointerForRegisteredMem;
    case cudaDevAttrCooperativeLaunch:
      return known.cooperativeLaunch;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(known.sharedMemPerBlockOptin);
    case cudaDevAttrHostRegisterSupported:
      return known.hostRegisterSupported;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
      return known.pageableMemoryAccessUsesHostPageTables;
    case cudaDevAttrDirectManagedMemAccessFromHost:
      return known.directManagedMemAccessFromHost;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return known.maxBlocksPerMultiProcessor;
    case cudaDevAttrHostRegisterReadOnlySupported:
      return known.hostRegisterReadOnlySupported;
    case cudaDevAttrMemoryPoolsSupported:
      return known.memoryPoolsSupported;
    case cudaDevAttrGPUDirectRDMASupported:
      return known.gpuDirectRDMASupported;
    case cudaDevAttrIpcEventSupport:
      return known.ipcEventSupported;
    case cudaDevAttrNumaConfig:
      return known.deviceNumaConfig;
    case cudaDevAttrNumaId:
      return known.deviceNumaId;
    case cudaDevAttrHostNumaId:
      return known.hostNumaId;
    default:
      return 0;
  }
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return guardedCuda([&] {
    requireResult(properties);
    requireDevice(device);
    *properties = propertiesOf(device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return guardedCuda([&] {
    requireResult(value);
    requireDevice(device);
    const int number = rawValue(attribute);
    if (number < cudaDevAttrMaxThreadsPerBlock || number > kLastAttribute) return cudaErrorInvalidValue;
    *value = attributeOf(propertiesOf(device), number);
    return cudaSuccess;
  });
}
