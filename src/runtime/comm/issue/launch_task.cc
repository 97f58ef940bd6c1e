#include "runtime/comm/issue/launch_task.h"

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/launch_queue.h"
#include "runtime/device/scheduler.h"

namespace xylem::comm {

using device::Progress;

LaunchTask::LaunchTask(LaunchQueue& launches) : launches_(launches), stall_(launches.stallPolicy()) {}

void LaunchTask::begin(std::uint64_t number) {
  number_ = number;
  usedFences_ = 0;
  awaitedFences_.store(0, std::memory_order_relaxed);
  over_.store(false, std::memory_order_relaxed);
  users_.store(1, std::memory_order_relaxed);
  begun_ = brief_ = moves_ = kernelIsOver_ = false;
  stall_.reset();
  collectives_.clear();
  comparing_ = false;
  compared_ = true;
  recorder_.begin(launches_.recorder());
}

void LaunchTask::fence(device::Stream& stream) {
  const auto index = static_cast<std::size_t>(usedFences_++);
  if (index == fences_.size()) fences_.push_back(std::make_unique<Fence>(*this));
  fences_[index]->arrived_ = false;
  awaitedFences_.fetch_add(1, std::memory_order_relaxed);
  users_.fetch_add(1, std::memory_order_relaxed);
  device::Scheduler::instance().enqueue(stream, *fences_[index]);
}

Progress LaunchTask::Fence::step() {
  if (!arrived_) {
    arrived_ = true;
    launch_.awaitedFences_.fetch_sub(1, std::memory_order_release);
  }
  return launch_.over_.load(std::memory_order_acquire) ? Progress::kDone : Progress::kWouldBlock;
}

bool LaunchTask::mayRun() const {
  return launches_.isTurn(number_) && awaitedFences_.load(std::memory_order_acquire) == 0;
}

Progress LaunchTask::step() {
  if (!begun_) {
    begun_ = true;
    launches_.noteBegun();
  }
  if (kernel_) return watchKernel();
  try {
    return stepWork();
  } catch (const Error& error) {
    if (!launches_.cancelled()) {
      if (const std::optional<Error> longer = launches_.explained(error)) throw Error(*longer);
      throw;
    }
    // The program has ended the operation itself: its stream goes on, as behind a kernel that leaves. But not
    // before the peers have left its buffers.
    if (moves_) launches_.awaitPeers();
    return Progress::kDone;
  }
}

Progress LaunchTask::stepWork() {
  launches_.throwIfFailed();
  if (!mayRun()) return Progress::kWouldBlock;
  moves_ = true;
  recorder_.start();
  const bool compares = !compared_ && compareCalls();
  const Progress progress = work_->step(compared_, launches_.observer());
  if (progress == Progress::kDone && compared_) return Progress::kDone;
  if (progress != Progress::kAdvanced && !compares) return Progress::kWouldBlock;
  stall_.over();
  recorder_.goOn();
  return Progress::kAdvanced;
}

// A kernel that has been started uses its buffers until it is over, whatever has failed meanwhile. Its queues over networks are
// pumped as long, and once afterwards, for what the last blocks have written.
Progress LaunchTask::watchKernel() {
  if (launches_.failed()) kernel_->giveUp();
  recorder_.start();
  kernelIsOver_ = kernel_->isOver();
  const bool moved = kernel_->pump();
  observeKernel(false);
  const bool compares = compareBesideKernel();
  if (!kernelIsOver_) return moved || compares ? Progress::kAdvanced : Progress::kWouldBlock;
  launches_.throwIfFailed();
  // Calls that differ say more than steps of other sizes than expected, which is what a kernel finds.
  if (!compared_) return compares ? Progress::kAdvanced : Progress::kWouldBlock;
  if (const auto failure = kernel_->failure()) throw Error(*failure);
  return Progress::kDone;
}

void LaunchTask::observeKernel(bool over) {
  ItemObserver* const observer = launches_.observer();
  if (observer == nullptr) return;
  work_->forEachItem([&](WorkItem& item) {
    if (item.observed) observer->timed(item, kernel_->timesOf(item.works, over));
    if (over) observer->ended(item);
  });
}

// As checkStall(), for the ranks that blocks say they wait for. The kernel may stand behind long work of its stream: until a block waits,
// no rank counts as late with its calls.
void LaunchTask::checkKernel() {
  kernel_->requireHealth();
  bool waits = kernelIsOver_;
  kernel_->eachWait([&](int, Function) { waits = true; });
  const CallCheck* const check = waits && comparing_ && !compared_ ? launches_.check() : nullptr;
  if (const std::optional<int> peer = launches_.checkKernel(*kernel_, stall_, check))
    recorder_.wait(*peer, check != nullptr ? WaitKind::kCheck : WaitKind::kData);
  else
    recorder_.goOn();
}

// Checked mode: goes on with comparing the collectives. Returns whether anything moved.
bool LaunchTask::compareCalls() {
  CallCheck& check = *launches_.check();
  if (!comparing_) check.begin(collectives_);
  comparing_ = true;
  const Progress progress = check.step();
  compared_ = progress == Progress::kDone;
  return progress != Progress::kWouldBlock;
}

// Checked mode: compares calls while the kernel runs. If they differ, the launches fail, which ends their kernels. Kernels of several
// launches may run at the same time, so each launch compares in its turn. Returns whether anything moved.
bool LaunchTask::compareBesideKernel() noexcept {
  if (compared_ || launches_.failed() || !launches_.isTurn(number_)) return false;
  try {
    return compareCalls();
  } catch (const Error& error) {
    launches_.fail(error);
  } catch (const std::exception& error) {
    launches_.fail(errorOf(error));
  }
  return true;
}

// Finds out for each queue which rank it waits for, and throws if that rank is gone, stopped or too slow.
void LaunchTask::checkStall() {
  if (kernel_) return checkKernel();
  try {
    checkWork();
  } catch (const Error&) {
    if (!launches_.cancelled()) throw;  // otherwise the next step ends it
  }
}

void LaunchTask::checkWork() {
  if (!mayRun()) return;
  stall_.begin(!compared_);
  bool waits = false;
  const auto note = [&](int peer, WaitKind kind) {
    if (!waits) recorder_.wait(LaunchQueue::rankOf(peer), kind);
    waits = true;
  };
  if (!compared_) {
    note(launches_.check()->missing(), WaitKind::kCheck);
    stall_.awaitCalls(*launches_.check());
  }
  for (const WorkQueue* queue : work_->open()) {
    const int peer = queue->waitsFor();
    if (peer == Executor::kNobody) continue;
    note(peer, WaitKind::kData);
    stall_.awaitPeer(peer, queue->current().function);
  }
  stall_.endCheck();
}

void LaunchTask::finish(const Error* error) noexcept {
  if (kernel_) observeKernel(true);
  if (error != nullptr) launches_.fail(*error);
  recorder_.end(error != nullptr || launches_.cancelled());
  over_.store(true, std::memory_order_release);
  launches_.passTurn();
  leave();
}

void LaunchTask::leave() noexcept {
  if (usedFences_ == 0 || users_.fetch_sub(1, std::memory_order_acq_rel) == 1) launches_.giveBack(*this);
}

}  // namespace xylem::comm
