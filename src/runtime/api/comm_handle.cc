#include "runtime/api/comm_handle.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <vector>

#include "core/deadline.h"
#include "core/per_process.h"
#include "runtime/api/boundary.h"
#include "runtime/api/one_sided.h"
#include "runtime/api/windows.h"
#include "runtime/device/waiting.h"

namespace xylem::api {
namespace {

// How many freed handles are remembered. Each takes a few hundred bytes.
constexpr std::size_t kRemembered = 1024;
// How long ncclCommAbort waits for other threads to leave the communicator. Aborting ends their calls at
// once; the time is for threads that get no core.
constexpr std::chrono::seconds kMaxUse{10};

}  // namespace

void CommUse::refuse(const char* function) {
  end();
  throw Error(ResultCode::kInvalidArgument, "{}: comm is not a communicator, or was destroyed", function);
}

void CommUse::refuseChild(const char* function) {
  end();
  throw Error(ResultCode::kInvalidUsage,
              "{}: comm is of the process that forked this one; a child needs a communicator of its own",
              function);
}

unsigned countForks() {
  class Counter final : StartedAnew {
   public:
    constexpr Counter() = default;
    void begin() { enlist(); }

   private:
    void startAnew() override { forks.fetch_add(1); }
  };
  static constinit Counter counter;
  static const bool begun = (counter.begin(), true);
  static_cast<void>(begun);
  return forks.load();
}

bool splitUnderWay(const ncclComm& handle) {
  const auto split = handle.split.lock();
  return split && !split->over.load(std::memory_order_acquire);
}

std::optional<Error> failureOf(ncclComm& handle) {
  if (std::optional<Error> failure = handle.impl->failure()) return failure;
  const std::shared_ptr<OneSided> oneSided = oneSidedOf(handle);
  return oneSided ? oneSided->failure() : std::nullopt;
}

void requireMeetable(const ncclComm& handle, const char* function) {
  if (handle.impl->state() != comm::CommState::kRevoked || splitUnderWay(handle))
    requireReady(handle, function);
}

void requireReadyAfterAll(const ncclComm& handle, const char* function) {
  const comm::CommState state = handle.impl->state();
  switch (state) {
    case comm::CommState::kFailed:
      if (const auto failure = handle.impl->failure()) throw *failure;
      throw Error(ResultCode::kInternalError, "{}: comm is broken", function);
    case comm::CommState::kRevoked:
      throw Error(ResultCode::kInvalidUsage,
                  "{}: comm was revoked; it can be split or shrunk, destroyed or aborted", function);
    case comm::CommState::kAborted:
      throw Error(ResultCode::kInvalidUsage, "{}: comm was aborted", function);
    case comm::CommState::kNew:
    case comm::CommState::kInProgress:
      throw Error(ResultCode::kInvalidArgument,
                  "{}: comm is not ready: an earlier call on it is still under way; end its group, or ask "
                  "ncclCommGetAsyncError until that says ncclSuccess",
                  function);
    case comm::CommState::kReady:
    case comm::CommState::kFinalized:
      break;
  }
  if (state == comm::CommState::kFinalized || handle.finalizeCalled)
    throw Error(ResultCode::kInvalidUsage, "{}: comm was finalized; it can only be destroyed", function);
  if (splitUnderWay(handle))
    throw Error(ResultCode::kInvalidArgument,
                "{}: comm is not ready: it is being split; end the group, or ask ncclCommGetAsyncError until "
                "that says ncclSuccess",
                function);
}

bool markFreed(ncclComm& handle) { return handle.magic.exchange(0) == ncclComm::kMagic; }

// Keeps communicators that were aborted while their operations were still in a stream behind other work. They
// are destroyed when a later call finds that these operations have ended.
void retire(std::unique_ptr<comm::Communicator> communicator) {
  static std::mutex mutex;
  // Never destroyed: at the end of the process there may be no thread left that runs the streams.
  static auto& retired = *new std::vector<std::unique_ptr<comm::Communicator>>;
  std::vector<std::unique_ptr<comm::Communicator>> over;  // destroyed after the lock is released
  const std::lock_guard lock(mutex);
  if (communicator) retired.push_back(std::move(communicator));
  const auto rest = std::partition(retired.begin(), retired.end(), [](const auto& c) { return !c->idle(); });
  std::move(rest, retired.end(), std::back_inserter(over));
  retired.erase(rest, retired.end());
}

namespace {

// Whether operations of an aborted communicator still stand in streams behind other work. Others are over any moment.
bool standsInStreams(const ncclComm& handle) {
  constexpr std::chrono::milliseconds kMoment{100};
  if (!handle.impl || handle.impl->state() != comm::CommState::kAborted) return false;
  const Deadline deadline = Deadline::after(kMoment);
  device::Backoff backoff(device::chooseWaitPolicy(true));
  while (!handle.impl->idle() && !deadline.passed()) backoff.pause();
  return !handle.impl->idle();
}

}  // namespace

void freeCommunicator(ncclComm& handle) {
  handle.alive.reset();
  forgetWindowsOf(handle);
  if (const std::shared_ptr<OneSided> oneSided = oneSidedOf(handle)) oneSided->end();
  {
    const std::lock_guard lock(handle.oneSidedMutex);
    handle.oneSided.reset();
  }
  handle.bystander.reset();
  retire(standsInStreams(handle) ? std::move(handle.impl) : nullptr);
  handle.impl.reset();
  // Never destroyed: destructors of the program's static objects may free communicators.
  static auto& mutex = *std::make_unique<std::mutex>().release();
  static auto& freed = *std::make_unique<std::deque<std::unique_ptr<ncclComm>>>().release();
  std::unique_ptr<ncclComm> forgotten;
  const std::lock_guard lock(mutex);
  freed.emplace_back(&handle);
  if (freed.size() <= kRemembered) return;
  forgotten = std::move(freed.front());
  freed.pop_front();
}

void endAbort(ncclComm& handle) noexcept {
  handle.impl->endAbort();
  if (handle.bystander) handle.bystander->endAbort();
}

void requireLeft(const ncclComm& handle, const char* function) {
  settleUseMarks();
  const Deadline deadline = Deadline::after(kMaxUse);
  device::Backoff backoff(device::chooseWaitPolicy(true));
  while (handle.users.load(std::memory_order_seq_cst) > 0 || isMarked(&handle) || splitUnderWay(handle)) {
    if (deadline.passed())
      throw Error(ResultCode::kInternalError,
                  "{}: comm was aborted, but another thread does not leave it; its resources are not freed",
                  function);
    backoff.pause();
  }
}

}  // namespace xylem::api
