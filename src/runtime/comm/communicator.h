#pragma once
// One rank's membership in a communicator, from joining to leaving.
//
//   Communicator comm({ids, rank, ranks, device}, config, settings, log);
//   comm.join();
//   comm.launch({operations, count});
//   Scheduler::instance().wait(stream);
//
// Joining is: meet the other ranks (bootstrap), tell each other who one is, plan the job, connect to the
// neighbours in the plan. If any of that fails on one rank, it fails on all, with the same reason.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "runtime/bootstrap/unique_id.h"
#include "runtime/comm/comm_config.h"
#include "runtime/comm/join/init_timer.h"
#include "runtime/comm/issue/operation.h"
#include "core/error.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/sockets/abort_flag.h"

namespace xylem {

class Bootstrap;
class Launches;
class UserOps;
class Residence;

struct Membership {
  std::vector<UniqueId> ids;  // one per root
  int rank = 0;
  int ranks = 1;
  int device = 0;
  const void* comm = nullptr;  // what the log calls the communicator
};

// A new id, and the root behind it in this process (ncclGetUniqueId).
UniqueId newUniqueId(const Settings& settings, std::shared_ptr<const Logger> log);

enum class CommState {
  kNew,         // made, but not joined
  kInProgress,  // joining, or leaving, in the background
  kReady,
  kFailed,     // an operation or joining failed; see failure()
  kFinalized,  // its operations are done; it can only be destroyed
  kRevoked,    // its operations were ended; its ranks can still make others of it
  kAborted,
};

class Communicator {
 public:
  Communicator(Membership membership, CommConfig config, const Settings& settings,
               std::shared_ptr<const Logger> log);
  // Waits for its operations, then takes leave of its peers.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return membership_.rank; }
  int ranks() const { return membership_.ranks; }
  int device() const { return membership_.device; }
  const CommConfig& config() const { return config_; }
  CommState state() const {
    return pending_.load(std::memory_order_acquire) > 0 ? CommState::kInProgress
                                                        : state_.load(std::memory_order_acquire);
  }
  // What broke it.
  std::optional<Error> failure() const;
  // Where the time of joining went, finer than the log says; once it is joined.
  const InitTimer& initTimer() const { return initTimer_; }

  // Meets the other ranks; returns when all are connected. Throws, and is broken, if it fails anywhere.
  void join();
  // As join, for some ranks of a communicator: those with the same `color` (negative: none, and this one
  // stays kNew), ordered by `key`, then by rank. Every rank of `parent` must call it at the same time.
  void joinSplit(Communicator& parent, int color, int key);
  // As join, for `members` of a communicator, in that order, which all of them call with the same list, and
  // nobody else.
  void joinPart(Communicator& parent, const std::vector<int>& members);
  // Waits for all operations of this rank; nothing more may be launched.
  void finalize();
  // Ends everything that is under way, whether or not it broke, and tells the peers; nothing more may be
  // launched. Returns when no operation touches its buffers any more. The ranks can still meet: joinPart
  // works among those that live.
  void revoke();
  // Ends everything that is under way, from any thread, and tells the peers. What stands in a stream behind
  // the work of others stays there, and does nothing when its turn comes.
  void abort() noexcept;
  // Whether nothing of it is in any stream: otherwise its end waits.
  bool idle() const;

  // Enqueues the operations as one launch. Throws what broke the communicator, if anything did, or
  // ncclInvalidUsage if it is not ready. One thread at a time.
  void launch(std::span<const CommOperation> operations);
  // Whether an all-to-all is one operation here, and not sends and receives.
  bool allToAllAtOnce() const;
  // How long the planner thinks that they take, in microseconds.
  float predict(std::span<const CommOperation> operations) const;

  // Operations that the user made (ncclRedOpCreatePreMulSum).
  UserOps& userOps() { return *userOps_; }

  // Runs `work` in the background; state() is kInProgress until it is over. What it throws breaks the
  // communicator.
  void background(std::function<void()> work);

 private:
  using Meet = std::function<std::unique_ptr<Bootstrap>()>;
  void joinThrough(const Meet& meet, bool split);
  void becomeMember(const Communicator& parent, const std::vector<int>& members);
  static void requireReady(CommState state, const char* what);
  void keepFailure(const Error& error);

  Membership membership_;
  const CommConfig config_;
  const Settings settings_;
  std::shared_ptr<const Logger> log_;
  std::atomic<CommState> state_{CommState::kNew};
  std::atomic<int> pending_{0};  // joining, and work in the background
  std::unique_ptr<UserOps> userOps_;
  InitTimer initTimer_;
  AbortFlag abortFlag_;
  std::unique_ptr<Residence> residence_;  // everything that joining brought
  mutable std::mutex failureMutex_;
  std::optional<Error> failure_;
  std::mutex backgroundMutex_;
  std::thread background_;
};

}  // namespace xylem
