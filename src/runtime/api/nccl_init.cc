// The part of nccl.h that makes communicators.

#include <algorithm>
#include <cstring>

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/config.h"
#include "runtime/api/group_members.h"
#include "runtime/api/one_sided.h"
#include "runtime/device/host_device.h"
#include "runtime/gpu/driver.h"

using namespace xylem;
using namespace xylem::api;

namespace {

// A call that joins a job by its ids.
struct Joining {
  const char* name;
  ncclComm_t* comm;
  int ranks;
  int rank;
  const ncclUniqueId* ids;
  int idCount;
  const ncclConfig_t* config;
  // Empty: the current one of the thread that makes the call.
  std::optional<int> device = std::nullopt;
};

// The number of the thread's current device; `driver`: null for host devices.
int currentDeviceOf(const gpu::DriverTable* driver) {
  if (driver == nullptr) return device::currentDevice();
  int device = 0;
  if (const gpu::Status status = driver->currentDevice(&device); status != gpu::kDone)
    throw Error(ResultCode::kUnhandledCudaError, "the current GPU is unknown: {}", driver->describe(status));
  return device;
}

comm::Membership membershipOf(const Joining& call) {
  if (call.ranks < 1)
    throw Error(ResultCode::kInvalidArgument, "{}: nranks is {}; at least 1 is needed", call.name,
                call.ranks);
  checkRank(call.rank, call.ranks, call.name, "rank");
  if (call.idCount < 1 || call.idCount > call.ranks)
    throw Error(ResultCode::kInvalidArgument, "{}: nId is {}; expected 1 to {}, the number of ranks",
                call.name, call.idCount, call.ranks);
  requireNotNull(call.ids, call.name, "commIds");
  comm::Membership membership{{}, call.rank, call.ranks};
  membership.gpuDriver = gpu::driverOfThread(comm::settingsOfProcess());
  membership.device = call.device ? *call.device : currentDeviceOf(membership.gpuDriver);
  for (int i = 0; i < call.idCount; ++i)
    membership.ids.push_back(
        inCall(call.name, [&] { return bootstrap::UniqueId::fromBytes(call.ids[i].internal); }));
  return membership;
}

// Hands the work that sets up a new communicator to its group. The program has the handle from now on, unless
// this throws.
ncclResult_t setUp(std::unique_ptr<ncclComm> handle, ncclComm_t* out, std::function<void()> work) {
  // Another thread may abort it while this one joins.
  ncclComm& made = *handle.release();
  std::optional<CommUse> use(std::in_place, &made, "the making of a communicator");
  *out = &made;
  try {
    const bool goesOn = comm::submitJob(*made.impl, std::move(work));
    if (made.magic.load(std::memory_order_seq_cst) != ncclComm::kMagic)
      throw Error(ResultCode::kInvalidUsage, "the communicator was aborted while it was made");
    GroupMembers::ofThread().add(*use);
    return goesOn ? ncclInProgress : ncclSuccess;
  } catch (...) {
    *out = nullptr;
    const bool ours = markFreed(made);
    use.reset();
    // Otherwise it belongs to the thread that aborts it.
    if (ours) freeCommunicator(made);
    throw;
  }
}

std::unique_ptr<ncclComm> newHandle(comm::Membership membership, const comm::CommConfig& config) {
  const Settings settings = comm::settingsOfProcess();
  return std::make_unique<ncclComm>(
      std::make_unique<comm::Communicator>(std::move(membership), config, settings, processLogger(settings)));
}

ncclResult_t join(const Joining& call) {
  return guardInGroup([&] {
    requireNotNull(call.comm, call.name, "comm");
    *call.comm = nullptr;
    const comm::CommConfig config = readConfig(call.config, call.name);
    comm::Membership membership = membershipOf(call);
    GroupMembers::ofThread().check(config.blocking, GroupCall::kLife, call.name);
    auto handle = newHandle(std::move(membership), config);
    comm::Communicator& communicator = *handle->impl;
    return setUp(std::move(handle), call.comm, [&communicator] { communicator.join(); });
  });
}

ncclUniqueId newId() {
  const Settings settings = comm::settingsOfProcess();
  const auto bytes = comm::newUniqueId(settings, processLogger(settings)).bytes();
  static_assert(sizeof bytes == NCCL_UNIQUE_ID_BYTES);
  ncclUniqueId id;
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

std::vector<int> devicesOf(int count, const int* list) {
  constexpr const char* kName = "ncclCommInitAll";
  if (count < 1)
    throw Error(ResultCode::kInvalidArgument, "{}: ndev is {}; at least 1 is needed", kName, count);
  const Settings settings = comm::settingsOfProcess();
  int there = device::hostDeviceCount(settings);
  const gpu::DriverTable* const driver = gpu::driverOfThread(settings);
  if (driver != nullptr) driver->countDevices(&there);
  if (count > there)
    throw Error(ResultCode::kInvalidUsage, "{}: ndev is {}, but there are {} devices{}", kName, count, there,
                driver == nullptr ? "; XYLEM_HOST_DEVICES sets their number" : "");
  std::vector<int> devices;
  std::vector<bool> seen(static_cast<std::size_t>(there), false);
  for (int i = 0; i < count; ++i) {
    const int device = list == nullptr ? i : list[i];
    if (device < 0 || device >= there)
      throw Error(ResultCode::kInvalidArgument, "{}: devlist[{}] is {}; expected 0 to {}", kName, i, device,
                  there - 1);
    if (seen[static_cast<std::size_t>(device)])
      throw Error(ResultCode::kInvalidUsage, "{}: device {} is in devlist twice", kName, device);
    seen[static_cast<std::size_t>(device)] = true;
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guard([&] {
    requireNotNull(uniqueId, "ncclGetUniqueId", "uniqueId");
    *uniqueId = newId();
  });
}
XYLEM_PROFILED(GetUniqueId);

ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return join({"ncclCommInitRank", comm, nranks, rank, &commId, 1, nullptr});
}
XYLEM_PROFILED(CommInitRank);

ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                     ncclConfig_t* config) {
  return join({"ncclCommInitRankConfig", comm, nranks, rank, &commId, 1, config});
}
XYLEM_PROFILED(CommInitRankConfig);

ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                       ncclUniqueId* commIds, ncclConfig_t* config) {
  return join({"ncclCommInitRankScalable", newcomm, nranks, myrank, commIds, nId, config});
}
XYLEM_PROFILED(CommInitRankScalable);

ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  std::vector<int> devices;
  ncclUniqueId id;
  const ncclResult_t ready = guardInGroup([&] {
    requireNotNull(comm, "ncclCommInitAll", "comm");
    devices = devicesOf(ndev, devlist);
    std::fill_n(comm, ndev, nullptr);
    id = newId();
  });
  if (ready != ncclSuccess) return ready;
  pncclGroupStart();
  for (int i = 0; i < ndev; ++i)
    join({"ncclCommInitAll", comm + i, ndev, i, &id, 1, nullptr, devices[static_cast<std::size_t>(i)]});
  const ncclResult_t result = pncclGroupEnd();
  if (result == ncclSuccess || comm::groupDepth() > 0) return result;
  const std::string text = lastErrorText();
  for (int i = 0; i < ndev; ++i) {
    if (comm[i] != nullptr) pncclCommAbort(comm[i]);
    comm[i] = nullptr;
  }
  return remember(static_cast<ResultCode>(result), text);
}
XYLEM_PROFILED(CommInitAll);

namespace {

// `work`, which makes another communicator of `parent`. The split counts as under way until it has ended.
template <typename Work>
auto splitting(ncclComm& parent, Work work) {
  const auto split = std::make_shared<PendingSplit>();
  parent.split = split;
  return [split, work = std::move(work)] {
    struct Over {
      ~Over() { split.over.store(true, std::memory_order_release); }
      PendingSplit& split;
    } const over{*split};
    work();
  };
}

// The ranks that are not excluded, in order.
std::vector<int> membersWithout(const int* excluded, int count, const comm::Communicator& parent,
                                const char* function) {
  if (count < 0 || count >= parent.ranks())
    throw Error(ResultCode::kInvalidArgument, "{}: excludeRanksCount is {}; expected 0 to {}", function,
                count, parent.ranks() - 1);
  if (count > 0) requireNotNull(excluded, function, "excludeRanksList");
  std::vector<bool> leaves(static_cast<std::size_t>(parent.ranks()));
  for (int i = 0; i < count; ++i) {
    checkRank(excluded[i], parent.ranks(), function, "a rank in excludeRanksList");
    if (excluded[i] == parent.rank() || leaves[static_cast<std::size_t>(excluded[i])])
      throw Error(ResultCode::kInvalidArgument, "{}: excludeRanksList has rank {}, which is {}", function,
                  excluded[i], excluded[i] == parent.rank() ? "the caller itself" : "in it twice");
    leaves[static_cast<std::size_t>(excluded[i])] = true;
  }
  std::vector<int> members;
  for (int rank = 0; rank < parent.ranks(); ++rank)
    if (!leaves[static_cast<std::size_t>(rank)]) members.push_back(rank);
  return members;
}

}  // namespace

ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                             ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  constexpr const char* kName = "ncclCommShrink";
  return guardInGroup([&] {
    requireNotNull(newcomm, kName, "newcomm");
    *newcomm = nullptr;
    CommUse parent(comm, kName);
    if (shrinkFlags != NCCL_SHRINK_DEFAULT && shrinkFlags != NCCL_SHRINK_ABORT)
      throw Error(ResultCode::kInvalidArgument,
                  "{}: shrinkFlags is {}; expected NCCL_SHRINK_DEFAULT ({}) or NCCL_SHRINK_ABORT ({})", kName,
                  shrinkFlags, NCCL_SHRINK_DEFAULT, NCCL_SHRINK_ABORT);
    requireMeetable(*parent, kName);
    std::vector<int> members = membersWithout(excludeRanksList, excludeRanksCount, *parent->impl, kName);
    const comm::CommConfig childConfig =
        config == nullptr ? parent->impl->config() : readConfig(config, kName);
    GroupMembers& group = GroupMembers::ofThread();
    group.check(childConfig.blocking, GroupCall::kLife, kName);
    auto handle = newHandle({{}, 0, 1, parent->impl->device()}, childConfig);
    auto work =
        splitting(*parent, [&from = *parent, &to = *handle->impl, shrinkFlags, members = std::move(members)] {
          if (shrinkFlags == NCCL_SHRINK_ABORT) {
            if (const auto oneSided = oneSidedOf(from)) oneSided->end();
            from.impl->revoke();
          }
          to.joinPart(*from.impl, members);
        });
    const ncclResult_t result = setUp(std::move(handle), newcomm, std::move(work));
    group.add(parent);
    return result;
  });
}
XYLEM_PROFILED(CommShrink);

ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId) {
  constexpr const char* kName = "ncclCommGetUniqueId";
  return guard([&] {
    requireNotNull(uniqueId, kName, "uniqueId");
    const CommUse use(comm, kName);
    requireReady(*use, kName);
    *uniqueId = newId();
  });
}
XYLEM_PROFILED(CommGetUniqueId);

ncclResult_t pncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* uniqueId, int rank,
                           ncclComm_t* newcomm, ncclConfig_t* config) {
  constexpr const char* kName = "ncclCommGrow";
  if (comm == nullptr) return join({kName, newcomm, nranks, rank, uniqueId, 1, config});
  return guardInGroup([&] {
    requireNotNull(newcomm, kName, "newcomm");
    *newcomm = nullptr;
    CommUse parent(comm, kName);
    requireReady(*parent, kName);
    if (rank != -1)
      throw Error(ResultCode::kInvalidArgument,
                  "{}: rank is {}; expected -1, as the ranks of comm keep theirs", kName, rank);
    if (nranks <= parent->impl->ranks())
      throw Error(ResultCode::kInvalidArgument, "{}: nranks is {}; expected more than the {} of comm", kName,
                  nranks, parent->impl->ranks());
    std::optional<bootstrap::UniqueId> id;
    if (uniqueId != nullptr)
      id = inCall(kName, [&] { return bootstrap::UniqueId::fromBytes(uniqueId->internal); });
    const comm::CommConfig grownConfig =
        config == nullptr ? parent->impl->config() : readConfig(config, kName);
    GroupMembers& group = GroupMembers::ofThread();
    group.check(grownConfig.blocking, GroupCall::kLife, kName);
    auto handle = newHandle({{}, 0, 1, parent->impl->device()}, grownConfig);
    auto work = splitting(*parent, [&from = *parent->impl, &to = *handle->impl, id, nranks] {
      to.joinGrown(from, id, nranks);
    });
    const ncclResult_t result = setUp(std::move(handle), newcomm, std::move(work));
    group.add(parent);
    return result;
  });
}
XYLEM_PROFILED(CommGrow);

ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  constexpr const char* kName = "ncclCommSplit";
  return guardInGroup([&] {
    requireNotNull(newcomm, kName, "newcomm");
    *newcomm = nullptr;
    CommUse parent(comm, kName);
    requireMeetable(*parent, kName);
    if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
      throw Error(ResultCode::kInvalidArgument,
                  "{}: color is {}; expected 0 or more, or NCCL_SPLIT_NOCOLOR ({})", kName, color,
                  NCCL_SPLIT_NOCOLOR);
    const comm::CommConfig childConfig =
        config == nullptr ? parent->impl->config() : readConfig(config, kName);
    GroupMembers& group = GroupMembers::ofThread();
    group.check(childConfig.blocking, GroupCall::kLife, kName);

    auto handle = newHandle({{}, 0, 1, parent->impl->device()}, childConfig);
    auto work = splitting(*parent, [&from = *parent->impl, &to = *handle->impl, color, key] {
      to.joinSplit(from, color, key);
    });
    if (color != NCCL_SPLIT_NOCOLOR) {
      const ncclResult_t result = setUp(std::move(handle), newcomm, std::move(work));
      group.add(parent);
      return result;
    }
    // This rank is in no new communicator, but the others need it to take part in the split.
    parent->bystander = std::move(handle->impl);
    const bool goesOn = comm::submitJob(*parent->bystander, std::move(work));
    group.add(parent);
    return goesOn ? ncclInProgress : ncclSuccess;
  });
}
XYLEM_PROFILED(CommSplit);
