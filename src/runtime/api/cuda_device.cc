// host/cuda_runtime_api.h: devices.

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "runtime/api/cuda_boundary.h"
#include "runtime/api/device_facts.h"
#include "runtime/api/raw_value.h"

using namespace xylem;

namespace {

// What programs set and ask again.
struct DeviceState {
  std::mutex mutex;
  std::map<int, unsigned> flags;
  std::set<std::pair<int, int>> peers;  // who was made reachable from whom
};
DeviceState& deviceState() {
  static DeviceState state;
  return state;
}

cudaError_t changePeer(int peer, bool enable) {
  return guardedCuda([&] {
    requireDevice(peer);
    if (peer == currentDevice()) return cudaErrorInvalidDevice;
    DeviceState& state = deviceState();
    const std::lock_guard lock(state.mutex);
    const std::pair<int, int> pair{currentDevice(), peer};
    if (!enable) return state.peers.erase(pair) > 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
    return state.peers.insert(pair).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t storeFlags(int device, unsigned flags) {
  if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0) return cudaErrorInvalidValue;
  DeviceState& state = deviceState();
  const std::lock_guard lock(state.mutex);
  state.flags[device] = flags;
  return cudaSuccess;
}

std::string busIdOf(int device) {
  const PciPlace place = pciPlaceOf(device);
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(place.domain),
                static_cast<unsigned>(place.bus), static_cast<unsigned>(place.slot));
  return text;
}

cudaError_t tellVersion(int* version) {
  return guardedCuda([&] {
    requireResult(version);
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return guardedCuda([&] {
    requireResult(count);
    *count = deviceCount();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return guardedCuda([&] {
    requireDevice(device);
    setCurrentDevice(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return guardedCuda([&] {
    requireResult(device);
    *device = currentDevice();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return guardedCuda([] { return waitForDevice(currentDevice()); });
}

cudaError_t cudaDeviceReset(void) {
  return guardedCuda([] {
    const cudaError_t outcome = waitForDevice(currentDevice());
    cudaGetLastError();
    return outcome;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* busId, int length, int device) {
  return guardedCuda([&] {
    if (busId == nullptr || length < 1) return cudaErrorInvalidValue;
    requireDevice(device);
    const std::string text = busIdOf(device);
    if (text.size() >= static_cast<size_t>(length)) return cudaErrorInvalidValue;
    std::memcpy(busId, text.c_str(), text.size() + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* busId) {
  return guardedCuda([&] {
    requireResult(device);
    requireResult(busId);
    for (int i = 0; i < deviceCount(); ++i) {
      if (busIdOf(i) != busId) continue;
      *device = i;
      return cudaSuccess;
    }
    return cudaErrorInvalidDevice;
  });
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  return guardedCuda([&] {
    requireResult(available);
    requireResult(total);
    const MachineMemory memory = machineMemory();
    *available = memory.available;
    *total = memory.total;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return guardedCuda([&] { return storeFlags(currentDevice(), flags); });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return guardedCuda([&] {
    requireResult(flags);
    DeviceState& state = deviceState();
    const std::lock_guard lock(state.mutex);
    *flags = state.flags[currentDevice()];
    return cudaSuccess;
  });
}

cudaError_t cudaInitDevice(int device, unsigned deviceFlags, unsigned flags) {
  constexpr unsigned kFlagsAreValid = 0x01;
  return guardedCuda([&] {
    requireDevice(device);
    if ((flags & ~kFlagsAreValid) != 0) return cudaErrorInvalidValue;
    return flags == kFlagsAreValid ? storeFlags(device, deviceFlags) : cudaSuccess;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return rememberCuda(cudaErrorUnsupportedLimit); }
cudaError_t cudaDeviceGetLimit(size_t*, cudaLimit) { return rememberCuda(cudaErrorUnsupportedLimit); }

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return guardedCuda([&] {
    requireResult(can);
    requireDevice(device);
    requireDevice(peer);
    *can = device != peer ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return flags == 0 ? changePeer(peer, true) : rememberCuda(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) { return changePeer(peer, false); }

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer) {
  return guardedCuda([&] {
    requireResult(value);
    requireDevice(device);
    requireDevice(peer);
    if (device == peer) return cudaErrorInvalidDevice;
    switch (rawValue(attribute)) {
      case cudaDevP2PAttrPerformanceRank:
      case cudaDevP2PAttrCudaArrayAccessSupported:
        *value = 0;
        return cudaSuccess;
      case cudaDevP2PAttrAccessSupported:
      case cudaDevP2PAttrNativeAtomicSupported:
        *value = 1;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaDriverGetVersion(int* version) { return tellVersion(version); }
cudaError_t cudaRuntimeGetVersion(int* version) { return tellVersion(version); }

cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
