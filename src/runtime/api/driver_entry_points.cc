// host/cuda.h: the driver's functions by name, for programs that ask for each at run time, by cuGetProcAddress or the
// runtime's cudaGetDriverEntryPoint.

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "runtime/api/driver_boundary.h"

using namespace xylem;
using namespace xylem::api;

namespace {

using EntryFunction = void (*)();
struct EntryPoint {
  std::string_view name;
  EntryFunction function;
};

// The name without its version: the macro's argument is not expanded.
#define XYLEM_ENTRY(NAME) \
  EntryPoint { #NAME, reinterpret_cast < EntryFunction>(NAME) }
const std::array kEntryPoints{
    XYLEM_ENTRY(cuInit),
    XYLEM_ENTRY(cuDriverGetVersion),
    XYLEM_ENTRY(cuGetErrorName),
    XYLEM_ENTRY(cuGetErrorString),
    XYLEM_ENTRY(cuDeviceGet),
    XYLEM_ENTRY(cuDeviceGetCount),
    XYLEM_ENTRY(cuDeviceGetName),
    XYLEM_ENTRY(cuDeviceGetUuid),
    XYLEM_ENTRY(cuDeviceTotalMem),
    XYLEM_ENTRY(cuDeviceGetAttribute),
    XYLEM_ENTRY(cuDeviceGetPCIBusId),
    XYLEM_ENTRY(cuDeviceGetByPCIBusId),
    XYLEM_ENTRY(cuDeviceCanAccessPeer),
    XYLEM_ENTRY(cuDeviceGetP2PAttribute),
    XYLEM_ENTRY(cuGetProcAddress),
    XYLEM_ENTRY(cuDevicePrimaryCtxRetain),
    XYLEM_ENTRY(cuDevicePrimaryCtxRelease),
    XYLEM_ENTRY(cuDevicePrimaryCtxReset),
    XYLEM_ENTRY(cuDevicePrimaryCtxSetFlags),
    XYLEM_ENTRY(cuDevicePrimaryCtxGetState),
    XYLEM_ENTRY(cuCtxCreate),
    XYLEM_ENTRY(cuCtxDestroy),
    XYLEM_ENTRY(cuCtxPushCurrent),
    XYLEM_ENTRY(cuCtxPopCurrent),
    XYLEM_ENTRY(cuCtxSetCurrent),
    XYLEM_ENTRY(cuCtxGetCurrent),
    XYLEM_ENTRY(cuCtxGetDevice),
    XYLEM_ENTRY(cuCtxGetFlags),
    XYLEM_ENTRY(cuCtxGetApiVersion),
    XYLEM_ENTRY(cuCtxGetStreamPriorityRange),
    XYLEM_ENTRY(cuCtxSynchronize),
    XYLEM_ENTRY(cuCtxEnablePeerAccess),
    XYLEM_ENTRY(cuCtxDisablePeerAccess),
    XYLEM_ENTRY(cuMemGetInfo),
    XYLEM_ENTRY(cuMemAlloc),
    XYLEM_ENTRY(cuMemAllocPitch),
    XYLEM_ENTRY(cuMemAllocManaged),
    XYLEM_ENTRY(cuMemAllocAsync),
    XYLEM_ENTRY(cuMemFree),
    XYLEM_ENTRY(cuMemFreeAsync),
    XYLEM_ENTRY(cuMemAllocHost),
    XYLEM_ENTRY(cuMemHostAlloc),
    XYLEM_ENTRY(cuMemFreeHost),
    XYLEM_ENTRY(cuMemHostRegister),
    XYLEM_ENTRY(cuMemHostUnregister),
    XYLEM_ENTRY(cuMemHostGetDevicePointer),
    XYLEM_ENTRY(cuMemHostGetFlags),
    XYLEM_ENTRY(cuMemGetAddressRange),
    XYLEM_ENTRY(cuPointerGetAttribute),
    XYLEM_ENTRY(cuPointerGetAttributes),
    XYLEM_ENTRY(cuPointerSetAttribute),
    XYLEM_ENTRY(cuMemcpy),
    XYLEM_ENTRY(cuMemcpyAsync),
    XYLEM_ENTRY(cuMemcpyHtoD),
    XYLEM_ENTRY(cuMemcpyDtoH),
    XYLEM_ENTRY(cuMemcpyDtoD),
    XYLEM_ENTRY(cuMemcpyHtoDAsync),
    XYLEM_ENTRY(cuMemcpyDtoHAsync),
    XYLEM_ENTRY(cuMemcpyDtoDAsync),
    XYLEM_ENTRY(cuMemcpyPeer),
    XYLEM_ENTRY(cuMemcpyPeerAsync),
    XYLEM_ENTRY(cuMemsetD8),
    XYLEM_ENTRY(cuMemsetD16),
    XYLEM_ENTRY(cuMemsetD32),
    XYLEM_ENTRY(cuMemsetD8Async),
    XYLEM_ENTRY(cuMemsetD16Async),
    XYLEM_ENTRY(cuMemsetD32Async),
    XYLEM_ENTRY(cuIpcGetMemHandle),
    XYLEM_ENTRY(cuIpcOpenMemHandle),
    XYLEM_ENTRY(cuIpcCloseMemHandle),
    XYLEM_ENTRY(cuMemGetHandleForAddressRange),
    XYLEM_ENTRY(cuFlushGPUDirectRDMAWrites),
    XYLEM_ENTRY(cuMemGetAllocationGranularity),
    XYLEM_ENTRY(cuMemCreate),
    XYLEM_ENTRY(cuMemRelease),
    XYLEM_ENTRY(cuMemRetainAllocationHandle),
    XYLEM_ENTRY(cuMemGetAllocationPropertiesFromHandle),
    XYLEM_ENTRY(cuMemExportToShareableHandle),
    XYLEM_ENTRY(cuMemImportFromShareableHandle),
    XYLEM_ENTRY(cuMemAddressReserve),
    XYLEM_ENTRY(cuMemAddressFree),
    XYLEM_ENTRY(cuMemMap),
    XYLEM_ENTRY(cuMemUnmap),
    XYLEM_ENTRY(cuMemSetAccess),
    XYLEM_ENTRY(cuMemGetAccess),
    XYLEM_ENTRY(cuStreamCreate),
    XYLEM_ENTRY(cuStreamCreateWithPriority),
    XYLEM_ENTRY(cuStreamDestroy),
    XYLEM_ENTRY(cuStreamSynchronize),
    XYLEM_ENTRY(cuStreamQuery),
    XYLEM_ENTRY(cuStreamWaitEvent),
    XYLEM_ENTRY(cuStreamGetCtx),
    XYLEM_ENTRY(cuStreamGetFlags),
    XYLEM_ENTRY(cuStreamGetPriority),
    XYLEM_ENTRY(cuLaunchHostFunc),
    XYLEM_ENTRY(cuStreamBeginCapture),
    XYLEM_ENTRY(cuStreamEndCapture),
    XYLEM_ENTRY(cuStreamIsCapturing),
    XYLEM_ENTRY(cuThreadExchangeStreamCaptureMode),
    XYLEM_ENTRY(cuEventCreate),
    XYLEM_ENTRY(cuEventDestroy),
    XYLEM_ENTRY(cuEventRecord),
    XYLEM_ENTRY(cuEventQuery),
    XYLEM_ENTRY(cuEventSynchronize),
    XYLEM_ENTRY(cuEventElapsedTime),
    XYLEM_ENTRY(cuStreamWriteValue32),
    XYLEM_ENTRY(cuStreamWriteValue64),
    XYLEM_ENTRY(cuStreamWaitValue32),
    XYLEM_ENTRY(cuStreamWaitValue64),
    XYLEM_ENTRY(cuStreamBatchMemOp),
    XYLEM_ENTRY(cuModuleLoad),
    XYLEM_ENTRY(cuModuleLoadData),
    XYLEM_ENTRY(cuModuleUnload),
    XYLEM_ENTRY(cuModuleGetFunction),
    XYLEM_ENTRY(cuLaunchKernel),
};
#undef XYLEM_ENTRY

// CUDA 13's cuCtxCreate has other arguments.
constexpr int kCuda13 = 13000;

EntryFunction find(const char* symbol, int version) {
  if (version >= kCuda13 && std::strcmp(symbol, "cuCtxCreate") == 0)
    return reinterpret_cast<EntryFunction>(cuCtxCreate_v4);
  const auto found = std::find_if(kEntryPoints.begin(), kEntryPoints.end(),
                                  [&](const EntryPoint& entry) { return entry.name == symbol; });
  return found == kEntryPoints.end() ? nullptr : found->function;
}

CUresult tell(const char* symbol, void** function, int version, CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const EntryFunction found = find(symbol, version);
  *function = reinterpret_cast<void*>(found);
  if (status != nullptr)
    *status = found == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace

CUresult cuGetProcAddress(const char* symbol, void** function, int cudaVersion, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  return tell(symbol, function, cudaVersion, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long, cudaDriverEntryPointQueryResult* status) {
  return guardedCuda([&] {
    CUdriverProcAddressQueryResult told = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const CUresult result = tell(symbol, function, static_cast<int>(version), &told);
    if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(told);
    // As with CUDA: if there is no such function, only the status says so.
    return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidValue : cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
