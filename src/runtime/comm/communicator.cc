#include "runtime/comm/communicator.h"

#include <algorithm>
#include <array>

#include "runtime/bootstrap/root.h"
#include "runtime/comm/issue/user_ops.h"
#include "runtime/comm/join/join_log.h"
#include "runtime/comm/join/joined_rank.h"
#include "runtime/comm/watch/late_ranks.h"
#include "runtime/device/scheduler.h"

namespace xylem::comm {
namespace {

struct SplitRequest {
  std::int32_t color = 0;
  std::int32_t key = 0;
};

// The ranks of `color`, in the order of their keys.
std::vector<int> membersOf(std::span<const SplitRequest> choices, int color) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].color == color) members.push_back(static_cast<int>(rank));
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
  });
  return members;
}

// Records where a rank waits while it joins.
bootstrap::Bootstrap::OnWait noteIn(FlightRecorder& recorder) {
  return [&recorder](std::string_view what, int peer) {
    what.empty() ? recorder.goOnJoining() : recorder.waitToJoin(what, peer);
  };
}

// Counts a call that an aborting thread has to wait for.
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

// The settings with what the program configured for this communicator. A variable that is set wins, as in NCCL.
Settings configured(Settings settings, const CommConfig& config) {
  const auto take = [&](Setting setting, int value, const char* field) {
    if (value >= 0 && !settings.isSet(setting)) settings.set(spec(setting), std::to_string(value), field);
  };
  take(Setting::kCollnetEnable, config.collnetEnable, "config.collnetEnable");
  take(Setting::kNvlsNChannels, config.nvlsCtas, "config.nvlsCTAs");
  take(Setting::kNChannelsPerNetPeer, config.channelsPerNetPeer, "config.nChannelsPerNetPeer");
  return settings;
}

}  // namespace

bootstrap::UniqueId newUniqueId(const Settings& settings, std::shared_ptr<const Logger> log) {
  return bootstrap::openRendezvous(settings, std::move(log));
}

Communicator::Communicator(Membership membership, CommConfig config, const Settings& settings,
                           std::shared_ptr<const Logger> log)
    : membership_(std::move(membership)),
      config_(std::move(config)),
      settings_(configured(settings, config_)),
      log_(std::move(log)),
      userOps_(std::make_unique<UserOps>()) {
  membership_.comm = this;
}

Communicator::~Communicator() {
  if (background_.joinable()) background_.join();
  if (joined_)
    device::Scheduler::instance().waitUntil([this] { return joined_->issuer().launches().idle(); });
  joined_.reset();
  bootstrap::forgetEndedRoots();
}

std::optional<Error> Communicator::failure() const {
  {
    const std::lock_guard lock(failureMutex_);
    if (failure_) return Error(failure_->code(), "{}", failure_->what());
  }
  // While it joins, `joined_` belongs to the joining thread.
  const CommState now = state();
  const bool joined = now == CommState::kReady || now == CommState::kFinalized;
  return joined ? joined_->issuer().launches().failure() : std::nullopt;
}

void Communicator::join() {
  const Pending pending(pending_);
  if (membership_.rank == 0) logVersion(*log_);
  Logger::setThreadDevice(membership_.device);
  logBootstrap(*log_, settings_, membership_.ids.front().address());
  joinThrough(
      [this](const bootstrap::Bootstrap::OnWait& onWait) {
        if (membership_.rank == 0) bootstrap::hostCommId(membership_.ids.front(), settings_, log_);
        return bootstrap::Bootstrap::join(membership_.ids, membership_.rank, membership_.ranks, settings_,
                                          *log_, &abortFlag_, onWait);
      },
      false);
}

void Communicator::becomeMember(const Communicator& parent, const std::vector<int>& members) {
  const auto mine = std::find(members.begin(), members.end(), parent.rank());
  membership_.rank = static_cast<int>(mine - members.begin());
  membership_.ranks = static_cast<int>(members.size());
  membership_.device = parent.device();
  membership_.gpuDriver = parent.gpuDriver();
  Logger::setThreadDevice(membership_.device);
}
void Communicator::joinPart(Communicator& parent, const std::vector<int>& members) {
  const Pending pending(pending_);
  becomeMember(parent, members);
  joinThrough([&](const auto&) { return parent.joined_->bootstrap().split(members, &abortFlag_); }, true);
}
void Communicator::joinGrown(Communicator& parent, const std::optional<bootstrap::UniqueId>& id, int ranks) {
  struct Given {
    std::int32_t any = 0;
    std::array<std::byte, bootstrap::UniqueId::kBytes> id{};
  };
  const Pending pending(pending_);
  Given mine;
  if (id) mine = {1, id->bytes()};
  std::vector<Given> all =
      parent.joined_->bootstrap().allGather(mine, "the exchange of the id of a larger job");
  std::erase_if(all, [](const Given& given) { return given.any == 0; });
  if (all.size() != 1) {
    const Error error(ResultCode::kInvalidUsage,
                      "{} ranks of the communicator that grows gave an id; exactly one must, with the id of "
                      "ncclCommGetUniqueId",
                      all.size());
    keepFailure(error);
    throw error;
  }
  membership_.ids = {bootstrap::UniqueId::fromBytes(all.front().id.data())};
  membership_.rank = parent.rank();
  membership_.ranks = ranks;
  membership_.device = parent.device();
  membership_.gpuDriver = parent.gpuDriver();
  join();
}

void Communicator::meet(const char* what) {
  requireReady(state_.load(std::memory_order_acquire), what);
  if (const auto broken = failure()) throw *broken;
  joined_->bootstrap().barrier(what);
}

std::vector<std::vector<std::byte>> Communicator::exchange(std::span<const std::byte> mine, std::size_t limit,
                                                           const char* what) {
  requireReady(state_.load(std::memory_order_acquire), what);
  if (const auto broken = failure()) throw *broken;
  return joined_->bootstrap().allGatherBytes(mine, limit, what);
}

int Communicator::hosts() const { return joined_->hosts(); }

void Communicator::joinSplit(Communicator& parent, int color, int key) {
  const Pending pending(pending_);
  bootstrap::Bootstrap& all = parent.joined_->bootstrap();
  // An error here concerns all ranks of the parent, so the bootstrap reports it to all of them; but not if
  // only the new communicator is aborted.
  const auto together = [&](auto&& call) {
    try {
      return call();
    } catch (const Error& error) {
      if (!abortFlag_.raised()) all.abort(error.what());
      throw;
    }
  };
  const std::vector<SplitRequest> choices = together([&] {
    return all.allGather(SplitRequest{color, key}, "the exchange of colors");
  });
  const std::vector<int> members = membersOf(choices, color);
  if (color < 0) return;
  becomeMember(parent, members);
  joinThrough([&](const auto&) { return together([&] { return all.split(members, &abortFlag_); }); }, true);
}

void Communicator::joinThrough(const Meet& meet, bool split) {
  initTimer_ = InitTimer();
  const NetworkChoice network = NetworkChoice::of(settings_, config_.netName, log_);
  if (network.sockets()) logSockets(*log_, settings_);
  const MadeBy by = split ? MadeBy::kSplit : MadeBy::kInitRank;
  const std::uint64_t fingerprint = membership_.ids.empty() ? 0 : membership_.ids.front().fingerprint();
  logInitStart(*log_, this, membership_, fingerprint, by);
  std::unique_ptr<FlightRecorder> recorder;
  const auto record = [&](const sockets::Secret& secret) {
    const FlightRecorder::Who who{communicatorId(secret), membership_.rank, membership_.ranks,
                                  membership_.device};
    recorder = std::make_unique<FlightRecorder>(who, RingUse::kJoining);
  };
  try {
    // The ranks of a split have their secret once they have met.
    if (!split) record(bootstrap::jobSecret(membership_.ids));
    std::unique_ptr<bootstrap::Bootstrap> bootstrap = meet(recorder ? noteIn(*recorder) : nullptr);
    if (split) record(bootstrap->secret());
    initTimer_.lap(InitPart::kBootstrap, "meeting the other ranks");
    bootstrap->tellWaits(noteIn(*recorder));
    joined_ =
        std::make_unique<JoinedRank>(std::move(bootstrap), std::move(recorder),
                                     JoinRequest{membership_, config_, network, settings_, log_}, initTimer_);
  } catch (const Error& error) {
    keepFailure(error);
    throw;
  }
  logInitComplete(*log_, this, membership_, fingerprint, joined_->busId(), by, initTimer_);
  become(CommState::kReady);
}

void Communicator::keepFailure(const Error& error) {
  const std::lock_guard lock(failureMutex_);
  // A copy: other threads read the text of theirs while this one ends with the communicator.
  if (!failure_) failure_ = Error(error.code(), "{}", error.what());
  become(abortFlag_.raised() ? CommState::kAborted : CommState::kFailed);
}

// Another thread may abort it at the same time, which stays so.
void Communicator::become(CommState next) {
  CommState now = state_.load(std::memory_order_acquire);
  while (now != CommState::kAborted &&
         !state_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
}

void Communicator::requireReady(CommState state, const char* what) {
  switch (state) {
    case CommState::kReady:
    case CommState::kFailed:  // failure() says why
      return;
    case CommState::kNew:
    case CommState::kInProgress:
      throw Error(ResultCode::kInvalidUsage,
                  "{}: the communicator is still being made or ended, or connects its ranks for a send or "
                  "receive; ask "
                  "ncclCommGetAsyncError until it is no longer ncclInProgress",
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

GpuExecutor* Communicator::gpu() const { return joined_ ? joined_->issuer().gpu() : nullptr; }

bool Communicator::prepare(std::span<const CommOperation> operations) {
  return state() != CommState::kReady || !joined_ || joined_->issuer().prepare(operations);
}

bool Communicator::stage(std::span<const CommOperation> operations) {
  if (state() != CommState::kReady || gpu() == nullptr || connectsLater(operations)) return false;
  joined_->issuer().stage(operations);
  return true;
}

void Communicator::unstage() noexcept { joined_->issuer().unstage(); }

void Communicator::launch(std::span<const CommOperation> operations, std::uint64_t again) {
  // The common case, which needs no stack.
  if (config_.blocking && state() == CommState::kReady && joined_)
    return joined_->issuer().launch(operations, again);
  launchIfReady(operations, again);
}

void Communicator::launchIfReady(std::span<const CommOperation> operations, std::uint64_t again) {
  if (const CommState now = state(); now != CommState::kReady)
    requireReady(now, name(operations.front().function));
  if (!joined_) throw *failure();
  if (connectsLater(operations))
    return background([this, kept = std::vector(operations.begin(), operations.end())] {
      Logger::setThreadDevice(membership_.device);
      try {
        joined_->issuer().launch(kept);
      } catch (const Error& error) {
        joined_->issuer().launches().fail(error);  // as if the launch had failed: it can still be revoked
      }
    });
  joined_->issuer().launch(operations, again);
}

bool Communicator::connectsLater(std::span<const CommOperation> operations) {
  return !config_.blocking && state() == CommState::kReady && joined_ &&
         joined_->issuer().mayConnectLater(operations);
}

std::uint64_t Communicator::number() const {
  return state() == CommState::kReady && joined_ ? joined_->number() : 0;
}

std::uint64_t Communicator::lastWork() const { return joined_ ? joined_->issuer().lastWork() : 0; }

bool Communicator::allToAllAtOnce() const { return joined_ && joined_->issuer().exchanges(); }

float Communicator::predict(std::span<const CommOperation> operations) const {
  requireReady(state(), "ncclGroupSimulateEnd");
  if (!joined_) throw *failure();
  return joined_->issuer().predict(operations);
}

void Communicator::finalize() {
  requireReady(state_.load(std::memory_order_acquire), "ncclCommFinalize");
  if (const auto broken = failure()) throw *broken;
  device::Scheduler::instance().waitUntil([this] { return joined_->issuer().launches().idle(); });
  if (const auto broken = joined_->issuer().launches().failure()) throw *broken;
  become(CommState::kFinalized);
}

void Communicator::revoke() {
  if (state() == CommState::kRevoked) return;
  requireReady(state(), "ncclCommRevoke");
  if (!joined_) throw *failure();
  LaunchQueue& launches = joined_->issuer().launches();
  launches.cancel(Error(ResultCode::kRemoteError, "rank {} revoked its communicator", membership_.rank));
  device::Scheduler::instance().waitUntil([&] { return launches.quiet(); });
  // From now on stopped ranks are no failure: the ranks that meet again leave them out.
  joined_->bootstrap().alsoCheck([](const char*) {});
  become(CommState::kRevoked);
}

void Communicator::abort(const std::string& reason) noexcept {
  beginAbort(reason);
  endAbort();
}

Error Communicator::abortError() const {
  const std::lock_guard lock(failureMutex_);
  return Error(ResultCode::kRemoteError, "rank {} aborted its communicator {}", membership_.rank,
               abortReason_);
}

// The launches fail first: a kernel that ends before that counts as done.
void Communicator::cancelLaunches() noexcept {
  Issuer& issuer = joined_->issuer();
  issuer.launches().cancel(abortError());
  if (const GpuExecutor* const gpu = issuer.gpu()) gpu->giveUp();
}

void Communicator::beginAbort(const std::string& reason) noexcept {
  abortFlag_.raise();
  {
    const std::lock_guard lock(failureMutex_);
    if (abortReason_.empty()) abortReason_ = reason;
  }
  switch (state_.load(std::memory_order_acquire)) {
    case CommState::kReady:
    case CommState::kFinalized:
    case CommState::kFailed:
    case CommState::kRevoked:
      // End its operations now, as finalize() in another thread may wait for them.
      if (joined_) cancelLaunches();
      become(CommState::kAborted);
      break;
    case CommState::kNew:
    case CommState::kInProgress:
    case CommState::kAborted:
      break;  // another thread may be joining; only that one makes `joined_`
  }
}

void Communicator::endAbort() noexcept {
  {
    const std::lock_guard lock(backgroundMutex_);
    if (background_.joinable()) background_.join();
  }
  device::Scheduler::instance().waitUntil([this] { return pending_.load(std::memory_order_acquire) == 0; });
  if (joined_) {
    cancelLaunches();
    LaunchQueue& launches = joined_->issuer().launches();
    device::Scheduler::instance().waitUntil([&] { return launches.quiet(); });
    joined_->tellPeers(abortError());  // also those that are still connecting
  }
  become(CommState::kAborted);
}

std::string Communicator::lateRanks() const {
  return joined_ ? lateRanksText(joined_->number(), membership_.rank) : "";
}

bool Communicator::idle() const { return !joined_ || joined_->issuer().launches().idle(); }

void Communicator::background(std::function<void()> work) {
  const std::lock_guard lock(backgroundMutex_);
  if (background_.joinable()) background_.join();
  pending_.fetch_add(1, std::memory_order_acq_rel);
  background_ = std::thread([this, work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      keepFailure(errorOf(error));
    }
    pending_.fetch_sub(1, std::memory_order_acq_rel);
  });
}

}  // namespace xylem::comm
