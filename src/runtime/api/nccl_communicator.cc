// The part of nccl.h that asks and ends communicators.

#include <cstddef>

#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/group_members.h"
#include "runtime/api/one_sided.h"
#include "runtime/api/raw_value.h"
#include "runtime/api/time_out.h"
#include "runtime/device/scheduler.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// Answers a question about a communicator that is set up, even if it has failed since.
template <typename Question>
ncclResult_t ask(ncclComm_t comm, int* answer, const char* function, const char* parameter,
                 Question&& question) {
  return guard([&] {
    const CommUse use(comm, function);
    requireNotNull(answer, function, parameter);
    const comm::CommState state = use->impl->state();
    if (state == comm::CommState::kNew || state == comm::CommState::kInProgress) requireReady(*use, function);
    *answer = question(*use->impl);
  });
}

ncclResult_t asyncErrorOf(ncclComm& handle) {
  switch (handle.impl->state()) {
    case comm::CommState::kNew:
      // Its work is in a group that is still open, or was dropped.
      return comm::groupDepth() > 0 ? ncclInProgress : ncclInvalidUsage;
    case comm::CommState::kInProgress:
      return ncclInProgress;
    case comm::CommState::kReady:
    case comm::CommState::kFinalized:
    case comm::CommState::kFailed:
    case comm::CommState::kRevoked:
    case comm::CommState::kAborted:
      break;
  }
  if (splitUnderWay(handle)) return ncclInProgress;
  // Operations may fail without a change of the state.
  const std::optional<Error> failure = failureOf(handle);
  return failure ? static_cast<ncclResult_t>(failure->code()) : ncclSuccess;
}

// Throws if another call still uses the communicator, which must not be destroyed then.
void requireUnused(const ncclComm& handle, const char* function) {
  const comm::CommState state = handle.impl->state();
  const bool inOpenGroup = state == comm::CommState::kNew && comm::groupDepth() > 0;
  if (state == comm::CommState::kInProgress || inOpenGroup || splitUnderWay(handle))
    throw Error(
        ResultCode::kInvalidArgument,
        "{}: an earlier call on comm is still under way; end its group, ask ncclCommGetAsyncError until "
        "that says something else than ncclInProgress, or use ncclCommAbort",
        function);
}

}  // namespace

ncclResult_t pncclCommFinalize(ncclComm_t comm) {
  constexpr const char* kName = "ncclCommFinalize";
  return guardInGroup([&] {
    if (comm == nullptr) return ncclSuccess;
    CommUse use(comm, kName);
    if (use->finalizeCalled || use->impl->state() == comm::CommState::kFinalized)
      throw Error(ResultCode::kInvalidArgument, "{}: comm was finalized before", kName);
    requireReady(*use, kName);
    GroupMembers& group = GroupMembers::ofThread();
    group.check(*use, GroupCall::kLife, kName);
    use->finalizeCalled = true;
    const auto finalize = [oneSided = oneSidedOf(*use), &communicator = *use->impl] {
      if (oneSided) oneSided->drain();
      communicator.finalize();
    };
    if (!use->impl->config().blocking && comm::groupDepth() == 0 && use->impl->idle() && !oneSidedOf(*use)) {
      finalize();  // waits for nothing, so that it takes no thread
      return ncclInProgress;
    }
    const bool goesOn = comm::submitJob(*use->impl, finalize);
    group.add(use);
    return goesOn ? ncclInProgress : ncclSuccess;
  });
}
XYLEM_PROFILED(CommFinalize);

ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  constexpr const char* kName = "ncclCommRevoke";
  return guard([&] {
    if (comm == nullptr) return;
    const CommUse use(comm, kName);
    if (revokeFlags != NCCL_REVOKE_DEFAULT)
      throw Error(ResultCode::kInvalidArgument, "{}: revokeFlags is {}; expected NCCL_REVOKE_DEFAULT ({})",
                  kName, revokeFlags, NCCL_REVOKE_DEFAULT);
    const comm::CommState state = use->impl->state();
    if (state == comm::CommState::kRevoked)
      throw Error(ResultCode::kInvalidArgument, "{}: comm was revoked before", kName);
    if (state == comm::CommState::kFinalized || use->finalizeCalled)
      throw Error(ResultCode::kInvalidArgument, "{}: comm was finalized; it can only be destroyed", kName);
    requireReady(*use, kName);
    if (const auto oneSided = oneSidedOf(*use)) oneSided->end();
    use->impl->revoke();
  });
}
XYLEM_PROFILED(CommRevoke);

namespace {

// Waits until all ranks have called, then notes whether the communicator is suspended.
ncclResult_t suspend(ncclComm_t comm, bool suspended, const char* function) {
  return guardInGroup([&] {
    CommUse use(comm, function);
    requireReady(*use, function);
    GroupMembers& group = GroupMembers::ofThread();
    group.check(*use, GroupCall::kLife, function);
    const bool goesOn = comm::submitJob(*use->impl, [&handle = *use, suspended, function] {
      handle.impl->meet(function);
      handle.suspended.store(suspended, std::memory_order_relaxed);
    });
    group.add(use);
    return goesOn ? ncclInProgress : ncclSuccess;
  });
}

}  // namespace

ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags) {
  if ((flags & NCCL_SUSPEND_MEM) == 0)
    return guard([&] { requireReady(*CommUse(comm, "ncclCommSuspend"), "ncclCommSuspend"); });
  return suspend(comm, true, "ncclCommSuspend");
}
XYLEM_PROFILED(CommSuspend);

ncclResult_t pncclCommResume(ncclComm_t comm) { return suspend(comm, false, "ncclCommResume"); }
XYLEM_PROFILED(CommResume);

ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value) {
  constexpr const char* kName = "ncclCommMemStats";
  return guard([&] {
    const CommUse use(comm, kName);
    requireNotNull(value, kName, "value");
    requireReady(*use, kName);
    switch (rawValue(stat)) {
      case ncclStatGpuMemSuspend:
        *value = 0;
        return;
      case ncclStatGpuMemSuspended:
        *value = use->suspended.load(std::memory_order_relaxed) ? 1 : 0;
        return;
      case ncclStatGpuMemPersist:
      case ncclStatGpuMemTotal:
        throw Error(ResultCode::kInvalidUsage, "{}: the memory of a communicator is not counted here", kName);
    }
    throw Error(ResultCode::kInvalidArgument, "{}: stat is {}; expected 0 to 3", kName, rawValue(stat));
  });
}
XYLEM_PROFILED(CommMemStats);

ncclResult_t pncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements*, ncclDevComm*) {
  constexpr const char* kName = "ncclDevCommCreate";
  return guard([&] {
    const CommUse use(comm, kName);
    throw Error(ResultCode::kInvalidUsage,
                "{}: Xylem has no device communicators: kernels of a program cannot communicate themselves",
                kName);
  });
}
XYLEM_PROFILED(DevCommCreate);

ncclResult_t pncclDevCommDestroy(ncclComm_t, const ncclDevComm*) { return ncclSuccess; }
XYLEM_PROFILED(DevCommDestroy);

ncclResult_t pncclCommDestroy(ncclComm_t comm) {
  constexpr const char* kName = "ncclCommDestroy";
  return guardInGroup([&] {
    if (comm == nullptr) return;
    {
      const CommUse use(comm, kName);
      requireUnused(*use, kName);
      if (comm::groupDepth() > 0) {
        GroupMembers& group = GroupMembers::ofThread();
        group.check(*use, GroupCall::kLife, kName);
        // Several ranks of one thread leave the job together, when the group ends.
        if (use->impl->state() == comm::CommState::kReady && !use->finalizeCalled && !use->impl->failure())
          comm::submitJob(*use->impl, [oneSided = oneSidedOf(*use), &communicator = *use->impl] {
            if (oneSided) oneSided->drain();
            communicator.finalize();
          });
        markFreed(*use);
        group.freeAtEnd(*use);
        return;
      }
      markFreed(*use);
      if (const auto oneSided = oneSidedOf(*use); oneSided && !use->impl->failure()) oneSided->drain();
    }
    freeCommunicator(*comm);
  });
}
XYLEM_PROFILED(CommDestroy);

std::string api::abortLate(ncclComm_t comm, const std::string& what) noexcept {
  std::string reason = what;
  guard([&] {
    const CommUse use(comm, "abortLate");
    std::string late = "a rank may be late, or have called something else";
    try {
      if (const std::string known = use->impl->lateRanks(); !known.empty()) late = known;
    } catch (const std::exception&) {  // another process's records could not be read
    }
    reason = what + "; " + late;
    use->impl->abort(fmt::format("({})", reason));
  });
  pncclCommAbort(comm);
  return reason;
}

ncclResult_t pncclCommAbort(ncclComm_t comm) {
  constexpr const char* kName = "ncclCommAbort";
  return guard([&] {
    if (comm == nullptr) return;
    {
      const CommUse use(comm, kName);
      // The second of two calls finds it freed.
      if (!markFreed(*use))
        throw Error(ResultCode::kInvalidArgument, "{}: comm is not a communicator, or was destroyed", kName);
      if (const auto oneSided = oneSidedOf(*use)) oneSided->end();
      use->impl->beginAbort();
      if (use->bystander) use->bystander->beginAbort();
    }
    if (comm::groupDepth() > 0) return GroupMembers::ofThread().endAbortAtEnd(*comm);
    endAbort(*comm);
    requireLeft(*comm, kName);
    freeCommunicator(*comm);
  });
}
XYLEM_PROFILED(CommAbort);

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return guard([&] {
    const CommUse use(comm, "ncclCommGetAsyncError");
    requireNotNull(asyncError, "ncclCommGetAsyncError", "asyncError");
    *asyncError = asyncErrorOf(*use);
    if (*asyncError != ncclInProgress) return;
    // Programs call this in a loop, which does some of the work for which they wait and leaves the core to the
    // rest.
    device::Scheduler::instance().poll(nullptr);
    *asyncError = asyncErrorOf(*use);
  });
}
XYLEM_PROFILED(CommGetAsyncError);

ncclResult_t pncclCommCount(const ncclComm_t comm, int* count) {
  return ask(comm, count, "ncclCommCount", "count", [](const comm::Communicator& c) { return c.ranks(); });
}
XYLEM_PROFILED(CommCount);

ncclResult_t pncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* properties) {
  constexpr const char* kName = "ncclCommQueryProperties";
  constexpr ncclCommProperties_t kUntouched = NCCL_COMM_PROPERTIES_INITIALIZER;
  return guard([&] {
    const CommUse use(comm, kName);
    requireNotNull(properties, kName, "properties");
    if (properties->size < offsetof(ncclCommProperties_t, ginType) || properties->magic != kUntouched.magic)
      throw Error(ResultCode::kInvalidUsage,
                  "{}: properties does not start as it should; initialize it with "
                  "NCCL_COMM_PROPERTIES_INITIALIZER",
                  kName);
    const comm::CommState state = use->impl->state();
    if (state == comm::CommState::kNew || state == comm::CommState::kInProgress) requireReady(*use, kName);
    properties->rank = use->impl->rank();
    properties->nRanks = use->impl->ranks();
    properties->cudaDev = properties->nvmlDev = use->impl->device();
    properties->deviceApiSupport = properties->multimemSupport = 0;
    // A program that was compiled before has no more fields.
    if (properties->version <= NCCL_VERSION(2, 29, 3) || properties->size < kUntouched.size) return;
    properties->ginType = properties->railedGinType = 0;
    properties->nLsaTeams = use->impl->hosts();
    properties->hostRmaSupport = whyNotOneSided(*use) == nullptr ? 1 : 0;
  });
}
XYLEM_PROFILED(CommQueryProperties);

ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device) {
  return ask(comm, device, "ncclCommCuDevice", "device",
             [](const comm::Communicator& c) { return c.device(); });
}
XYLEM_PROFILED(CommCuDevice);

ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank) {
  return ask(comm, rank, "ncclCommUserRank", "rank", [](const comm::Communicator& c) { return c.rank(); });
}
XYLEM_PROFILED(CommUserRank);
