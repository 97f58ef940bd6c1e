#include "runtime/comm/communicator.h"

#include <algorithm>

#include "runtime/bootstrap/meeting.h"
#include "runtime/bootstrap/root.h"
#include "runtime/comm/comm_log.h"
#include "runtime/comm/join/residence.h"
#include "runtime/comm/issue/user_ops.h"
#include "runtime/device/scheduler.h"

namespace xylem {
namespace {

struct Wish {
  std::int32_t color = 0;
  std::int32_t key = 0;
};

// The ranks of `color`, in the order of their keys.
std::vector<int> membersOf(std::span<const Wish> choices, int color) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].color == color) members.push_back(static_cast<int>(rank));
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  return members;
}

// Work that whoever aborts has to wait for.
class Pending {
 public:
  explicit Pending(std::atomic<int>& count) : count_(count) {
    count_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~Pending() { count_.fetch_sub(1, std::memory_order_acq_rel); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace

UniqueId newUniqueId(const Settings& settings, std::shared_ptr<const Logger> log) {
  return openMeeting(settings, std::move(log));
}

Communicator::Communicator(Membership membership, CommConfig config, const Settings& settings,
                           std::shared_ptr<const Logger> log)
    : membership_(std::move(membership)),
      config_(std::move(config)),
      settings_(settings),
      log_(std::move(log)),
      userOps_(std::make_unique<UserOps>()) {
  membership_.comm = this;
}

Communicator::~Communicator() {
  if (background_.joinable()) background_.join();
  if (residence_) Scheduler::instance().waitUntil([this] { return residence_->launches().idle(); });
  residence_.reset();
  forgetEndedRoots();
}

std::optional<Error> Communicator::failure() const {
  {
    const std::lock_guard lock(failureMutex_);
    if (failure_) return Error(failure_->code(), "{}", failure_->what());
  }
  // While it is being made nobody may look inside.
  const CommState now = state();
  const bool joined = now == CommState::kReady || now == CommState::kFinalized;
  return joined ? residence_->launches().failure() : std::nullopt;
}

void Communicator::join() {
  const Pending pending(pending_);
  if (membership_.rank == 0) logVersion(*log_);
  Logger::setThreadDevice(membership_.device);
  logBootstrap(*log_, settings_, membership_.ids.front().address());
  joinThrough(
      [this] {
        if (membership_.rank == 0) hostCommId(membership_.ids.front(), settings_, log_);
        return Bootstrap::join(membership_.ids, membership_.rank, membership_.ranks, settings_, *log_,
                               &abortFlag_);
      },
      false);
}

void Communicator::becomeMember(const Communicator& parent, const std::vector<int>& members) {
  const auto mine = std::find(members.begin(), members.end(), parent.rank());
  membership_.rank = static_cast<int>(mine - members.begin());
  membership_.ranks = static_cast<int>(members.size());
  membership_.device = parent.device();
  Logger::setThreadDevice(membership_.device);
}
void Communicator::joinPart(Communicator& parent, const std::vector<int>& members) {
  const Pending pending(pending_);
  becomeMember(parent, members);
  joinThrough([&] { return parent.residence_->bootstrap().split(members, &abortFlag_); }, true);
}
void Communicator::joinSplit(Communicator& parent, int color, int key) {
  const Pending pending(pending_);
  Bootstrap& all = parent.residence_->bootstrap();
  // What fails here has failed for all ranks of the parent, whether they are told or not; but a part may be
  // aborted without it.
  const auto together = [&](auto&& call) {
    try {
      return call();
    } catch (const Error& error) {
      if (!abortFlag_.raised()) all.abort(error.what());
      throw;
    }
  };
  const std::vector<Wish> choices = together([&] {
    return all.allGather(Wish{color, key}, "the exchange of colors");
  });
  const std::vector<int> members = membersOf(choices, color);
  if (color < 0) return;
  becomeMember(parent, members);
  joinThrough([&] { return together([&] { return all.split(members, &abortFlag_); }); }, true);
}

void Communicator::joinThrough(const Meet& meet, bool split) {
  initTimer_ = InitTimer();
  const NetworkChoice network = NetworkChoice::of(settings_, config_.netName, log_);
  if (network.sockets()) logSockets(*log_, settings_);
  const MadeBy by = split ? MadeBy::kSplit : MadeBy::kInitRank;
  const std::uint64_t fingerprint = membership_.ids.empty() ? 0 : membership_.ids.front().fingerprint();
  logInitStart(*log_, this, membership_, fingerprint, by);
  try {
    std::unique_ptr<Bootstrap> bootstrap = meet();
    initTimer_.lap(InitPart::kBootstrap);
    residence_ = std::make_unique<Residence>(std::move(bootstrap), membership_, config_, network, settings_,
                                             log_, initTimer_);
  } catch (const Error& error) {
    keepFailure(error);
    throw;
  }
  logInitComplete(*log_, this, membership_, fingerprint, residence_->busId(), by, initTimer_);
  state_.store(CommState::kReady, std::memory_order_release);
}

void Communicator::keepFailure(const Error& error) {
  const std::lock_guard lock(failureMutex_);
  // Its text is shared with nobody: others read theirs while this one ends with the communicator.
  if (!failure_) failure_ = Error(error.code(), "{}", error.what());
  state_.store(abortFlag_.raised() ? CommState::kAborted : CommState::kFailed, std::memory_order_release);
}

void Communicator::requireReady(CommState state, const char* what) {
  switch (state) {
    case CommState::kReady:
    case CommState::kFailed:  // what failed is thrown by whoever asks for it
      return;
    case CommState::kNew:
    case CommState::kInProgress:
      throw Error(
          ResultCode::kInvalidUsage,
          "{}: the communicator is still being made or ended; ask ncclCommGetAsyncError until it is no "
          "longer ncclInProgress",
          what);
    case CommState::kFinalized:
      throw Error(ResultCode::kInvalidUsage, "{}: the communicator was finalized; it can only be destroyed",
                  what);
    case CommState::kRevoked:
      throw Error(ResultCode::kInvalidUsage, "{}: the communicator was revoked", what);
    case CommState::kAborted:
      throw Error(ResultCode::kInvalidUsage, "{}: the communicator was aborted", what);
  }
}

void Communicator::launch(std::span<const CommOperation> operations) {
  if (const CommState now = state(); now != CommState::kReady)
    requireReady(now, name(operations.front().function));
  if (!residence_) throw *failure();
  residence_->launch(operations);
}

bool Communicator::allToAllAtOnce() const { return residence_ && residence_->exchanges(); }

float Communicator::predict(std::span<const CommOperation> operations) const {
  requireReady(state(), "ncclGroupSimulateEnd");
  if (!residence_) throw *failure();
  return residence_->predict(operations);
}

void Communicator::finalize() {
  requireReady(state_.load(std::memory_order_acquire), "ncclCommFinalize");
  if (const auto broken = failure()) throw *broken;
  Scheduler::instance().waitUntil([this] { return residence_->launches().idle(); });
  if (const auto broken = residence_->launches().failure()) throw *broken;
  state_.store(CommState::kFinalized, std::memory_order_release);
}

void Communicator::revoke() {
  if (state() == CommState::kRevoked) return;
  requireReady(state(), "ncclCommRevoke");
  if (!residence_) throw *failure();
  Launches& launches = residence_->launches();
  launches.breakOff(Error(ResultCode::kRemoteError, "rank {} revoked its communicator", membership_.rank));
  Scheduler::instance().waitUntil([&] { return launches.quiet(); });
  // Ranks that are stopped are for those who make another one of it to leave out.
  residence_->bootstrap().lookAlso([](const char*) {});
  state_.store(CommState::kRevoked, std::memory_order_release);
}

void Communicator::abort() noexcept {
  abortFlag_.raise();
  const auto reason = [this] {
    return Error(ResultCode::kRemoteError, "rank {} aborted its communicator (ncclCommAbort)",
                 membership_.rank);
  };
  // Finalizing waits for operations. Whether there are any can only be known once it is joined.
  if (const CommState now = state_.load(std::memory_order_acquire);
      now == CommState::kReady || now == CommState::kFinalized)
    residence_->launches().breakOff(reason());
  {
    const std::lock_guard lock(backgroundMutex_);
    if (background_.joinable()) background_.join();
  }
  // Another thread may be joining; nobody else makes a residence.
  Scheduler::instance().waitUntil([this] { return pending_.load(std::memory_order_acquire) == 0; });
  if (residence_) {
    Launches& launches = residence_->launches();
    launches.breakOff(reason());
    Scheduler::instance().waitUntil([&] { return launches.quiet(); });
    residence_->tellPeers(reason());  // those that were still being connected
  }
  state_.store(CommState::kAborted, std::memory_order_release);
}

bool Communicator::idle() const { return !residence_ || residence_->launches().idle(); }

void Communicator::background(std::function<void()> work) {
  const std::lock_guard lock(backgroundMutex_);
  if (background_.joinable()) background_.join();
  pending_.fetch_add(1, std::memory_order_acq_rel);
  background_ = std::thread([this, work = std::move(work)] {
    try {
      work();
    } catch (const Error& error) {
      keepFailure(error);
    } catch (const std::exception& error) {
      keepFailure(Error(ResultCode::kInternalError, "{}", error.what()));
    }
    pending_.fetch_sub(1, std::memory_order_acq_rel);
  });
}

}  // namespace xylem
