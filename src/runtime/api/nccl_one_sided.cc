// The part of nccl.h about windows of other ranks, and one-sided operations. Pointers into windows are those of this rank:
// code of a device, which would use others, is not there.

#include <map>
#include <mutex>

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/group_members.h"
#include "runtime/api/one_sided.h"
#include "runtime/api/one_sided_calls.h"
#include "runtime/api/windows.h"
#include "runtime/comm/issue/group.h"

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
std::optional<Window> findWindow(const void* handle) {
  const std::lock_guard lock(windows().mutex);
  const auto found = windows().all.find(handle);
  return found == windows().all.end() ? std::nullopt : std::optional(found->second);
}
std::vector<Window> windowsOf(const ncclComm& comm) {
  const std::lock_guard lock(windows().mutex);
  std::vector<Window> found;
  for (const auto& [handle, window] : windows().all)
    if (window.comm == &comm) found.push_back(window);
  return found;
}

}  // namespace xylem::api

namespace {

Window windowOf(ncclWindow_t handle, const char* function) {
  requireNotNull(handle, function, "window");
  const std::optional<Window> found = findWindow(handle);
  if (!found)
    throw Error(ResultCode::kInvalidArgument, "{}: window is not a window, or was given back", function);
  return *found;
}

// Throws if the communicator is without one-sided operations.
void requireOneSided(const ncclComm& handle, const char* function) {
  if (const char* const why = whyNotOneSided(handle))
    throw Error(ResultCode::kInvalidArgument,
                "{}: this communicator has no one-sided operations, as {}; use ncclSend and ncclRecv",
                function, why);
}

void requireZero(long long value, const char* name, const char* function) {
  if (value != 0)
    throw Error(ResultCode::kInvalidArgument, "{}: {} is {}; expected 0", function, name, value);
}

// Makes the operation by `read`, which checks the arguments, once the communicator is known to have such operations.
template <typename Read>
ncclResult_t issue(ncclComm_t comm, cudaStream_t handle, const char* function, Read&& read) {
  return guardInGroup([&] {
    CommUse use(comm, function);
    requireReady(*use, function);
    auto operation = read(*use);
    cuda_api::CudaStream& stream = readStream(handle, use->impl->device(), function);
    GroupMembers& group = GroupMembers::ofThread();
    group.check(*use, GroupCall::kOperation, function);
    OneSidedCalls::ofThread().add(*use, stream, std::move(operation), function);
    group.add(use);
  });
}

// A put, or a signal alone.
OneSided::Put putTo(const ncclComm& handle, int peer, int sigIdx, int ctx, unsigned flags,
                    const char* function) {
  checkRank(peer, handle.impl->ranks(), function, "peer");
  requireOneSided(handle, function);
  requireZero(ctx, "ctx", function);
  requireZero(sigIdx, "sigIdx", function);
  requireZero(flags, "flags", function);
  return {.peer = peer};
}

// Throws unless the bytes lie in a symmetric window of the communicator.
void requireInWindow(const ncclComm& handle, const std::byte* start, std::size_t bytes,
                     const char* function) {
  for (const Window& window : windowsOf(handle))
    if ((window.flags & NCCL_WIN_COLL_SYMMETRIC) != 0 && start >= window.start && bytes <= window.bytes &&
        static_cast<std::size_t>(start - window.start) <= window.bytes - bytes)
      return;
  throw Error(
      ResultCode::kInvalidArgument,
      "{}: localbuff is not in a window of this rank that was registered with NCCL_WIN_COLL_SYMMETRIC",
      function);
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

ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx, unsigned flags,
                            ncclComm_t comm, cudaStream_t stream) {
  constexpr const char* kName = "ncclPutSignal";
  return issue(comm, stream, kName, [&](const ncclComm& handle) {
    OneSided::Put put = putTo(handle, peer, sigIdx, ctx, flags, kName);
    requireNotNull(localbuff, kName, "localbuff");
    const Window window = windowOf(peerWin, kName);
    if (window.comm != &handle)
      throw Error(ResultCode::kInvalidArgument, "{}: peerWin is not a window of this communicator", kName);
    put.from = static_cast<const std::byte*>(localbuff);
    put.bytes = bytesOf(count, readType(datatype, kName), 1, kName);
    put.window = window.ordinal;
    put.offset = peerWinOffset;
    requireInWindow(handle, put.from, put.bytes, kName);
    return put;
  });
}
XYLEM_PROFILED(PutSignal);

ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned flags, ncclComm_t comm,
                         cudaStream_t stream) {
  constexpr const char* kName = "ncclSignal";
  return issue(comm, stream, kName,
               [&](const ncclComm& handle) { return putTo(handle, peer, sigIdx, ctx, flags, kName); });
}
XYLEM_PROFILED(Signal);

ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                             cudaStream_t stream) {
  constexpr const char* kName = "ncclWaitSignal";
  return issue(comm, stream, kName, [&](const ncclComm& handle) {
    requireOneSided(handle, kName);
    if (nDesc < 1)
      throw Error(ResultCode::kInvalidArgument, "{}: nDesc is {}; at least 1 is needed", kName, nDesc);
    requireNotNull(signalDescs, kName, "signalDescs");
    std::map<int, std::uint64_t> counts;
    for (int i = 0; i < nDesc; ++i) {
      const ncclWaitSignalDesc_t& wanted = signalDescs[i];
      checkRank(wanted.peer, handle.impl->ranks(), kName, "peer of a descriptor");
      if (wanted.opCnt < 1)
        throw Error(ResultCode::kInvalidArgument, "{}: opCnt of descriptor {} is {}; at least 1 is needed",
                    kName, i, wanted.opCnt);
      requireZero(wanted.sigIdx, "sigIdx of a descriptor", kName);
      requireZero(wanted.ctx, "ctx of a descriptor", kName);
      counts[wanted.peer] += static_cast<std::uint64_t>(wanted.opCnt);
    }
    OneSided::Wait wait;
    for (const auto& [peer, count] : counts) wait.wanted.push_back({peer, count});
    return wait;
  });
}
XYLEM_PROFILED(WaitSignal);
