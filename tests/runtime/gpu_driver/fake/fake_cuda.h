#pragma once
// A stand-in for NVIDIA's driver, libcuda.so.1, that has two GPUs which compute nothing: tests of libxylem-cuda.so say what it answers, and look
// at what it was asked. It makes contexts and loads code as while another thread captures a stream: only for threads that have relaxed the
// capture.
//
//   FakeCuda& fake = *...;                 // dlopen, dlsym "fakeCuda"; from then on "libcuda.so.1" is this one
//   fake.canReachPeers = 0;

#include <cuda.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace xylem::testing {

struct FakeCuda {
  static constexpr int kDevices = 2, kProcessors = 132, kBlocksEach = 2;
  static constexpr std::size_t kWhole = std::size_t{2} << 20;  // allocations are multiples of it

  // Its answers:
  CUresult initStatus = CUDA_SUCCESS, retainStatus = CUDA_SUCCESS;
  CUresult accessStatus = CUDA_SUCCESS;  // of cuMemSetAccess
  int canReachPeers = 1, makesFiles = 1;
  CUresult loadStatus = CUDA_SUCCESS;  // of cuModuleLoadData
  CUstreamCaptureStatus captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
  struct Attributes {
    int type = 0, device = -1, managed = 0, legacy = 0;
  } pointer;  // of whatever pointer is asked about

  // The calls until now:
  std::vector<CUcontext> contexts;  // of the thread, the current one last
  CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  int modulesLoaded = 0, objectsReleased = 0, objectsRetained = 0;
  std::string kernelName;
  std::map<CUdeviceptr, std::size_t> memory;
  std::vector<CUdeviceptr> closed;  // of other processes
  // Memory of the cuMem functions: allocations and addresses that were not given back, and the devices that reach an address.
  std::map<CUmemGenericAllocationHandle, std::size_t> allocations;
  CUmemAllocationProp properties{};  // of the last one that was made
  std::map<CUdeviceptr, std::size_t> reserved;
  std::map<CUdeviceptr, std::vector<int>> reachedBy;
  struct Launch {
    unsigned blocks = 0, threads = 0;
    const void* begin = nullptr;
    unsigned recordBytes = 0;
    char firstInlined = 0;
    CUstream stream = nullptr;
    CUfunction kernel = nullptr;
  } launch;
  struct Wait {
    CUdeviceptr address = 0;
    unsigned value = 0, flags = 0;
  } wait;

  // The primary contexts. The program's runtime retains one, too, when it uses the device.
  struct Primary {
    int retained = 0;
    bool isActive = false;
    unsigned long long id = 0;  // another one each time that it becomes active
  } primaries[kDevices];
  unsigned long long lastId = 0;
  void activate(int device) {
    Primary& primary = primaries[device];
    ++primary.retained;
    if (!std::exchange(primary.isActive, true)) primary.id = ++lastId;
  }
  // cudaDeviceReset destroys what is in the context, and does not release it.
  void reset(int device) { primaries[device].isActive = false; }

  static CUcontext contextOf(int device) { return reinterpret_cast<CUcontext>(0x1000 + device); }
  // The function of the n-th module that was loaded.
  static CUfunction kernelOf(int n) { return reinterpret_cast<CUfunction>(0x5000 + n); }
};

}  // namespace xylem::testing
