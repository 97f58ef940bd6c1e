// The part of nccl.h about memory.

#include <cstdint>

#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/one_sided.h"
#include "runtime/api/windows.h"
#include "runtime/cuda_api/allocation_table.h"
#include "runtime/device/host_device.h"
#include "runtime/gpu/gpu_allocations.h"

using namespace xylem;
using namespace xylem::api;

ncclResult_t pncclMemAlloc(void** ptr, size_t size) {
  return guard([&] {
    requireNotNull(ptr, "ncclMemAlloc", "ptr");
    *ptr = nullptr;
    if (size == 0) return;  // as cudaMalloc does
    *ptr = inCall("ncclMemAlloc", [&]() -> void* {
      if (const gpu::DriverTable* const driver = gpu::driverOfThread(comm::settingsOfProcess()))
        return gpu::GpuAllocations::instance().allocate(*driver, size);
      return cuda_api::AllocationTable::instance().allocate({.device = device::currentDevice()}, size);
    });
  });
}
XYLEM_PROFILED(MemAlloc);

ncclResult_t pncclMemFree(void* ptr) {
  return guard([&] {
    if (ptr == nullptr ||
        cuda_api::AllocationTable::instance().free(ptr, cuda_api::AllocationTable::kOfDevice) ||
        inCall("ncclMemFree", [&] { return gpu::GpuAllocations::instance().free(ptr); }))
      return;
    throw Error(ResultCode::kInvalidArgument,
                "ncclMemFree: {} was not given out by ncclMemAlloc, or was given back before", ptr);
  });
}
XYLEM_PROFILED(MemFree);

namespace {

void checkBuffer(const void* buff, size_t size, const char* function) {
  requireNotNull(buff, function, "buff");
  if (size == 0 || size > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(buff))
    throw Error(ResultCode::kInvalidArgument, "{}: size is {}; no buffer at {} has that size", function, size,
                buff);
}

}  // namespace

ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return guard([&] {
    requireNotNull(handle, "ncclCommRegister", "handle");
    *handle = nullptr;
    const CommUse use(comm, "ncclCommRegister");
    requireReady(*use, "ncclCommRegister");
    checkBuffer(buff, size, "ncclCommRegister");
    *handle = use->registrations.add(buff, size);
  });
}
XYLEM_PROFILED(CommRegister);

ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle) {
  return guard([&] {
    const CommUse use(comm, "ncclCommDeregister");
    if (handle == nullptr || use->registrations.remove(handle)) return;
    throw Error(ResultCode::kInvalidArgument,
                "ncclCommDeregister: handle is not one that ncclCommRegister gave for this communicator, or "
                "was given back before");
  });
}
XYLEM_PROFILED(CommDeregister);

ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags) {
  constexpr const char* kName = "ncclCommWindowRegister";
  return guardInGroup([&] {
    requireNotNull(win, kName, "win");
    *win = nullptr;
    const CommUse use(comm, kName);
    requireReady(*use, kName);
    checkBuffer(buff, size, kName);
    constexpr int kFlags = NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING;
    if ((winFlags & ~kFlags) != 0)
      throw Error(ResultCode::kInvalidArgument, "{}: winFlags is {}; expected bits of {}", kName, winFlags,
                  kFlags);
    const Window window{.comm = &*use,
                        .start = static_cast<std::byte*>(buff),
                        .bytes = size,
                        .flags = winFlags,
                        .ordinal = use->windowsMade,
                        .rank = use->impl->rank(),
                        .ranks = use->impl->ranks()};
    if (const std::shared_ptr<OneSided> oneSided = oneSidedOf(*use)) oneSided->publish(window);
    ++use->windowsMade;
    *win = static_cast<ncclWindow_t>(use->windows.add(buff, size));
    rememberWindow(*win, window);
  });
}
XYLEM_PROFILED(CommWindowRegister);

ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return guardInGroup([&] {
    const CommUse use(comm, "ncclCommWindowDeregister");
    if (win == nullptr) return;
    if (use->windows.remove(win)) {
      const std::optional<Window> window = findWindow(win);
      const std::shared_ptr<OneSided> oneSided = oneSidedOf(*use);
      if (window && oneSided) oneSided->withdraw(window->ordinal);
      return forgetWindow(win);
    }
    throw Error(
        ResultCode::kInvalidArgument,
        "ncclCommWindowDeregister: win is not a window of this communicator, or was given back before");
  });
}
XYLEM_PROFILED(CommWindowDeregister);
