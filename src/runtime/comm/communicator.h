#pragma once
// One rank's membership in a communicator, from joining to leaving.
//
//   Communicator comm({ids, rank, ranks, device}, config, settings, log);
//   comm.join();
//   comm.launch({operations, count});
//   Scheduler::instance().wait(stream);
//
// Joining means: meet the other ranks (bootstrap), exchange who they are, plan the job, connect to the
// neighbours in the plan (join/joined_rank.h). If any of that fails on one rank, it fails on all, with the
// same reason.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/bootstrap/unique_id.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/join/join_steps.h"
#include "runtime/plugins/env_plugin.h"
#include "runtime/sockets/abort_flag.h"

namespace xylem::bootstrap {
class Bootstrap;
}
namespace xylem::gpu {
struct DriverTable;
}
namespace xylem::comm {

// The settings of this process, as a plugin for variables may change them.
using plugins::settingsOfProcess;

class UserOps;
class JoinedRank;
class GpuExecutor;

// The configuration of a communicator (ncclConfig_t), with defaults filled in.
struct CommConfig {
  bool blocking = true;     // false: it is made, connected and ended in the background (ncclInProgress)
  int cgaClusterSize = 0;   // thread blocks that share memory on a GPU; accepted, without effect on cores
  int minCtas = 0;          // collectives use at least this many channels; 0: as planned
  int maxCtas = 0;          // and at most this many; 0: as planned
  std::string netName;      // the network to use, as NCCL_NET; empty: any
  bool splitShare = false;  // split communicators use the parent's resources
  int trafficClass = -1;    // of network traffic; -1: the network's default
  std::string name;         // for people; profilers get it
  bool oneSided = true;     // false: the communicator is without one-sided operations
  // In place of the variables named here, where these are not set; -1: their defaults.
  int collnetEnable = -1;       // NCCL_COLLNET_ENABLE
  int nvlsCtas = -1;            // NCCL_NVLS_NCHANNELS
  int channelsPerNetPeer = -1;  // NCCL_NCHANNELS_PER_NET_PEER
};

struct Membership {
  std::vector<bootstrap::UniqueId> ids;  // one per root
  int rank = 0;
  int ranks = 1;
  int device = 0;
  const gpu::DriverTable* gpuDriver = nullptr;  // of the device, if that is a GPU
  const void* comm = nullptr;                   // the address by which the log names the communicator
};

// Makes a new id and the root behind it in this process (ncclGetUniqueId).
bootstrap::UniqueId newUniqueId(const Settings& settings, std::shared_ptr<const Logger> log);

enum class CommState {
  kNew,         // made, but not joined
  kInProgress,  // joining, leaving, or connecting for a launch in the background
  kReady,
  kFailed,     // an operation or joining failed; see failure()
  kFinalized,  // its operations are done; it can only be destroyed
  kRevoked,    // its operations were ended; its ranks can still make other communicators of it
  kAborted,
};

class Communicator {
 public:
  Communicator(Membership membership, CommConfig config, const Settings& settings,
               std::shared_ptr<const Logger> log);
  // Waits for its operations, then says farewell to its peers.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return membership_.rank; }
  int ranks() const { return membership_.ranks; }
  int device() const { return membership_.device; }
  // The same on all of its ranks; 0 while it is not ready.
  std::uint64_t number() const;
  const gpu::DriverTable* gpuDriver() const { return membership_.gpuDriver; }
  const CommConfig& config() const { return config_; }
  CommState state() const {
    return pending_.load(std::memory_order_acquire) > 0 ? CommState::kInProgress
                                                        : state_.load(std::memory_order_acquire);
  }
  // The error that broke the communicator.
  std::optional<Error> failure() const;
  // Where the time of joining went, in more detail than the log has; valid once it is joined.
  const InitTimer& initTimer() const { return initTimer_; }

  // Meets the other ranks; returns when all are connected. Throws, and breaks the communicator, if it fails
  // on any rank.
  void join();
  // Joins the ranks of `parent` that have the same `color`, ordered by `key`, then by rank. A rank with a
  // negative color stays kNew. All ranks of `parent` call it at the same time.
  void joinSplit(Communicator& parent, int color, int key);
  // Joins `members` of `parent`, in that order. Exactly these ranks call it, with the same list.
  void joinPart(Communicator& parent, const std::vector<int>& members);
  // Joins the ranks of `parent`, with their numbers, and new ones, `ranks` in all, which join by the id that one rank
  // of `parent` gives. All ranks of `parent` call it.
  void joinGrown(Communicator& parent, const std::optional<bootstrap::UniqueId>& id, int ranks);
  // Waits until all ranks have called it.
  void meet(const char* what);
  // The same, and returns the bytes of each rank, at most `limit`.
  std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine, std::size_t limit,
                                               const char* what);
  // On how many hosts its ranks are.
  int hosts() const;
  // Waits for all operations of this rank. Nothing can be launched afterwards.
  void finalize();
  // Ends all operations, also of a broken communicator, and tells the peers. Returns when no operation
  // touches its buffers any more. Nothing can be launched afterwards, but the ranks that live can still meet
  // with joinPart.
  void revoke();
  // Ends all operations, from any thread, and tells the peers. Launches that stand in a stream behind other
  // work stay there, and do nothing when their turn comes. The errors of the peers give the reason.
  void abort(const std::string& reason) noexcept;
  // abort() in two parts, for several communicators whose operations wait for each other, as kernels of one GPU may.
  // The first part waits for nothing; a communicator that was joined launches nothing after it. The second one waits until
  // no operation touches its buffers any more.
  void beginAbort(const std::string& reason = "(ncclCommAbort)") noexcept;
  void endAbort() noexcept;
  // Names the ranks that hold up the oldest operation under way; empty if they are not known (watch/late_ranks.h).
  std::string lateRanks() const;
  // Whether no stream holds any work of it; otherwise ending it waits.
  bool idle() const;

  // Null on host devices.
  GpuExecutor* gpu() const;
  // Before launch(): goes on with connecting what the operations need, without waiting. False if it is not all there.
  bool prepare(std::span<const CommOperation> operations);
  // Before launch() of the same operations, by a thread that launches on other communicators, too: takes the memory of GPUs that the launch
  // needs. Returns true if launch() or unstage() has to come next.
  bool stage(std::span<const CommOperation> operations);
  void unstage() noexcept;
  // Whether launch() would connect in the background.
  bool connectsLater(std::span<const CommOperation> operations);
  // Enqueues the operations as one launch. Throws the error that broke the communicator, or ncclInvalidUsage
  // if it is not ready. One thread at a time. On a GPU, a communicator that does not block enqueues them in the background if it has to
  // connect first. `again`: lastWork() after such a launch in the same buffers.
  void launch(std::span<const CommOperation> operations, std::uint64_t again = 0);
  // Stands for the work of the last launch while that is at hand for another one; otherwise 0.
  std::uint64_t lastWork() const;
  // Whether an all-to-all is one operation here rather than sends and receives.
  bool allToAllAtOnce() const;
  // The planner's estimate for the operations, in microseconds.
  float predict(std::span<const CommOperation> operations) const;

  // The reduction operations that the program has made (ncclRedOpCreatePreMulSum).
  UserOps& userOps() { return *userOps_; }

  // Runs `work` in a thread; state() is kInProgress until it is over. An error that it throws breaks the
  // communicator.
  void background(std::function<void()> work);

 private:
  // Not inlined, so that launch() needs no stack for it.
  [[gnu::noinline]] void launchIfReady(std::span<const CommOperation> operations, std::uint64_t again);
  // The argument is a Bootstrap::OnWait.
  using Meet = std::function<std::unique_ptr<bootstrap::Bootstrap>(
      const std::function<void(std::string_view what, int peer)>&)>;
  void joinThrough(const Meet& meet, bool split);
  void becomeMember(const Communicator& parent, const std::vector<int>& members);
  static void requireReady(CommState state, const char* what);
  void keepFailure(const Error& error);
  void become(CommState next);
  Error abortError() const;
  void cancelLaunches() noexcept;

  Membership membership_;
  const CommConfig config_;
  const Settings settings_;
  std::shared_ptr<const Logger> log_;
  std::atomic<CommState> state_{CommState::kNew};
  std::atomic<int> pending_{0};  // calls of join and work in the background that have not returned
  std::unique_ptr<UserOps> userOps_;
  InitTimer initTimer_;
  sockets::AbortFlag abortFlag_;
  std::unique_ptr<JoinedRank> joined_;
  mutable std::mutex failureMutex_;
  std::optional<Error> failure_;
  std::string abortReason_;  // the first; guarded by failureMutex_
  std::mutex backgroundMutex_;
  std::thread background_;
};

}  // namespace xylem::comm
