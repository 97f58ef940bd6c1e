#include "runtime/comm/issue/launch_queue.h"

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/executor.h"
#include "runtime/comm/watch/flight_dump.h"
#include "runtime/device/scheduler.h"
#include "runtime/transport/collnet/coll_network.h"
#include "runtime/transport/queue/recv_end.h"

namespace xylem::comm {
namespace {

// How many calls the log shows beside an error.
constexpr std::size_t kCallsAtTimeout = 5;

// The peers' watch is asked once in this time at most.
constexpr std::chrono::milliseconds kTimePerLook{100};

}  // namespace

// In checked mode ranks find out themselves what differs, which says more than that another rank gave up.
void LaunchQueue::ask() {
  if (stallPolicy_.checked != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < kTimePerLook) return;
  asked_ = now;
  try {
    stallPolicy_.watch.throwIfAborted();
  } catch (const Error& error) {
    fail(error);
  }
}

int LaunchQueue::rankOf(int peer) { return peer == transport::kReducingNetwork ? Executor::kNobody : peer; }

std::optional<int> LaunchQueue::checkKernel(const gpu::KernelLaunch& kernel, Stall& stall,
                                            const CallCheck* comparing) noexcept {
  std::optional<int> first;
  const auto note = [&](int peer) {
    if (!first) stall.begin(comparing != nullptr);
    if (!first) first = rankOf(peer);
  };
  try {
    if (comparing != nullptr) {
      note(comparing->missing());
      stall.awaitCalls(*comparing);
    }
    kernel.eachWait([&](int peer, Function function) {
      note(peer);
      if (peer == transport::kReducingNetwork) kernel.requireReducingNetworks();
      stall.awaitPeer(peer, function);
    });
    if (first)
      stall.endCheck();
    else
      stall.over();
  } catch (const Error& error) {
    fail(error);
  }
  return first;
}

LaunchTask& LaunchQueue::next() {
  if (free_ == nullptr) free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (free_ == nullptr) free_ = all_.emplace_back(std::make_unique<LaunchTask>(*this)).get();
  LaunchTask& launch = *free_;
  free_ = launch.link;
  launch.link = nullptr;
  launch.begin(issued_.load(std::memory_order_relaxed));
  return launch;
}

void LaunchQueue::issue(LaunchTask& launch, device::Stream& stream, bool lasting) {
  issued_.fetch_add(1, std::memory_order_release);
  device::Scheduler::instance().enqueue(stream, launch, lasting);
}

void LaunchQueue::throwFailure() const { throw *failure(); }

std::optional<Error> LaunchQueue::failure() const {
  const std::lock_guard lock(failureMutex_);
  if (!failure_) return std::nullopt;
  return Error(failure_->code(), "{}", failure_->what());  // a copy whose text no other thread shares
}

bool LaunchQueue::keepFailure(const Error& error, bool cancels) noexcept {
  {
    const std::lock_guard lock(failureMutex_);
    if (cancels) cancelled_.store(true, std::memory_order_release);
    if (failure_) return false;
    failure_ = Error(error.code(), "{}", error.what());
  }
  recorder_.fail(error.what());
  failed_.store(true, std::memory_order_seq_cst);
  return true;
}

std::optional<Error> LaunchQueue::explained(const Error& error) const noexcept try {
  if (!tuned_ || dynamic_cast<const transport::StepMismatch*>(&error) == nullptr) return std::nullopt;
  return Error(error.code(), "{} Do their tuner plugins (NCCL_TUNER_PLUGIN) decide alike?", error.what());
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

void LaunchQueue::fail(const Error& error) noexcept {
  if (const std::optional<Error> longer = explained(error)) return fail(*longer);
  if (keepFailure(error)) {
    const Logger& log = stallPolicy_.log;
    log.warn("{}", error.what());
    if (log.enabled(LogLevel::kWarn, Subsystem::kAll))
      log.warn("last calls of {}", dumpRecords(recorder_.ring(), kCallsAtTimeout));
  }
  // Tell the peers even after an earlier failure: connections may have been made since.
  try {
    stallPolicy_.watch.abort(stallPolicy_.rank, toldToPeers(stallPolicy_.rank, error));
  } catch (const std::bad_alloc&) {
    stallPolicy_.watch.abort(stallPolicy_.rank, error.what());
  }
}

void LaunchQueue::cancel(const Error& error) noexcept {
  const std::string text = error.what();
  keepFailure(error, true);
  // Tell the peers at once, not when launches end: these may stand in streams behind work that waits for
  // peers, which wait for this rank.
  stallPolicy_.watch.abort(stallPolicy_.rank, text);
}

void LaunchQueue::awaitPeers() noexcept {
  try {
    stallPolicy_.watch.abort(stallPolicy_.rank, failure()->what());
  } catch (const std::bad_alloc&) {
    stallPolicy_.watch.abort(stallPolicy_.rank, "");
  }
}

// A stack without locks: any thread pushes a finished launch, and the issuing thread takes all of them at
// once, so no launch can be popped and pushed again behind a thread's back.
void LaunchQueue::putBack(LaunchTask& launch) noexcept {
  LaunchTask* newest = returned_.load(std::memory_order_relaxed);
  do {
    launch.link = newest;
  } while (!returned_.compare_exchange_weak(newest, &launch, std::memory_order_release,
                                            std::memory_order_relaxed));
}

}  // namespace xylem::comm
