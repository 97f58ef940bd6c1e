// The part of nccl.h about windows of other ranks, and one-sided operations. A rank does not know where a peer's
// window is, though ranks of one host map each other's memory: it is alone in its team, without one-sided operations.

#include <map>
#include <mutex>

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/windows.h"

using namespace xylem;
using namespace xylem::api;

namespace xylem::api {
namespace {

struct Windows {
  std::mutex mutex;
  std::map<const void*, Window> all;
};
Windows& windows() {
  static Windows& known = *std::make_unique<Windows>().release();
  return known;
}

}  // namespace

void rememberWindow(const void* handle, const Window& window) {
  const std::lock_guard lock(windows().mutex);
  windows().all[handle] = window;
}
void forgetWindow(const void* handle) {
  const std::lock_guard lock(windows().mutex);
  windows().all.erase(handle);
}
void forgetWindowsOf(const ncclComm& comm) {
  const std::lock_guard lock(windows().mutex);
  std::erase_if(windows().all, [&](const auto& entry) { return entry.second.comm == &comm; });
}

}  // namespace xylem::api

namespace {

Window windowOf(ncclWindow_t handle, const char* function) {
  requireNotNull(handle, function, "window");
  const std::lock_guard lock(windows().mutex);
  const auto found = windows().all.find(handle);
  if (found == windows().all.end())
    throw Error(ResultCode::kInvalidArgument, "{}: window is not a window, or was given back", function);
  return found->second;
}

[[noreturn]] void throwNoOneSided(const char* function) {
  throw Error(ResultCode::kInvalidArgument,
              "{}: communicators of host devices have no one-sided operations; use ncclSend and ncclRecv",
              function);
}

// The checks that come before the one for one-sided operations.
ncclResult_t refuse(ncclComm_t comm, int peer, const char* function) {
  return guardInGroup([&] {
    const CommUse use(comm, function);
    requireReady(*use, function);
    checkRank(peer, use->impl->ranks(), function, "peer");
    throwNoOneSided(function);
  });
}

}  // namespace

ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  constexpr const char* kName = "ncclWinGetUserPtr";
  return guard([&] {
    requireNotNull(outUserPtr, kName, "outUserPtr");
    *outUserPtr = nullptr;
    const CommUse use(comm, kName);
    requireNotNull(win, kName, "win");
    const void* const start = use->windows.find(win);
    if (start == nullptr)
      throw Error(ResultCode::kInvalidArgument, "{}: win is not a window of this communicator", kName);
    *outUserPtr = const_cast<void*>(start);
  });
}
XYLEM_PROFILED(WinGetUserPtr);

ncclResult_t pncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank, void** outPtr) {
  constexpr const char* kName = "ncclGetLsaDevicePointer";
  return guard([&] {
    requireNotNull(outPtr, kName, "outPtr");
    const Window known = windowOf(window, kName);
    checkRank(lsaRank, 1, kName, "lsaRank");
    *outPtr = known.start + offset;
  });
}
XYLEM_PROFILED(GetLsaDevicePointer);

ncclResult_t pncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** outPtr) {
  constexpr const char* kName = "ncclGetPeerDevicePointer";
  return guard([&] {
    requireNotNull(outPtr, kName, "outPtr");
    const Window known = windowOf(window, kName);
    checkRank(peer, known.ranks, kName, "peer");
    *outPtr = peer == known.rank ? known.start + offset : nullptr;
  });
}
XYLEM_PROFILED(GetPeerDevicePointer);

ncclResult_t pncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t, void** outPtr) {
  constexpr const char* kName = "ncclGetLsaMultimemDevicePointer";
  return guard([&] {
    requireNotNull(outPtr, kName, "outPtr");
    windowOf(window, kName);
    *outPtr = nullptr;
  });
}
XYLEM_PROFILED(GetLsaMultimemDevicePointer);

ncclResult_t pncclGetMultimemDevicePointer(ncclWindow_t window, size_t, ncclMultimemHandle_t multimem,
                                           void** outPtr) {
  constexpr const char* kName = "ncclGetMultimemDevicePointer";
  return guard([&] {
    requireNotNull(outPtr, kName, "outPtr");
    windowOf(window, kName);
    requireNotNull(multimem.mcBasePtr, kName, "multimem.mcBasePtr");
    *outPtr = nullptr;
  });
}
XYLEM_PROFILED(GetMultimemDevicePointer);

ncclResult_t pncclPutSignal(const void*, size_t, ncclDataType_t, int peer, ncclWindow_t, size_t, int, int,
                            unsigned, ncclComm_t comm, cudaStream_t) {
  return refuse(comm, peer, "ncclPutSignal");
}
XYLEM_PROFILED(PutSignal);

ncclResult_t pncclSignal(int peer, int, int, unsigned, ncclComm_t comm, cudaStream_t) {
  return refuse(comm, peer, "ncclSignal");
}
XYLEM_PROFILED(Signal);

ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t) {
  constexpr const char* kName = "ncclWaitSignal";
  return guardInGroup([&] {
    const CommUse use(comm, kName);
    requireReady(*use, kName);
    if (nDesc < 1)
      throw Error(ResultCode::kInvalidArgument, "{}: nDesc is {}; at least 1 is needed", kName, nDesc);
    requireNotNull(signalDescs, kName, "signalDescs");
    throwNoOneSided(kName);
  });
}
XYLEM_PROFILED(WaitSignal);
