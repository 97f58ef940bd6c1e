#include "runtime/plugins/profiled_queues.h"

#include <algorithm>
#include <utility>

#include "runtime/transport/collnet/coll_network.h"

namespace xylem::plugins {

ProfiledQueue::~ProfiledQueue() {
  for (const Part& part : parts_) {
    for (std::uint64_t step = part.closed; step < part.opened; ++step) profiler_.stop(eventOf(step));
    profiler_.stop(part.event);
  }
}

void ProfiledQueue::begin(const ProfiledPart& part, std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  parts_.push_back({.event = profiler_.startProxyOp(part),
                    .first = first,
                    .end = first + static_cast<std::uint64_t>(part.steps)});
  Part& begun = parts_.back();
  const std::uint64_t head = control_.head.load(std::memory_order_acquire);
  const std::uint64_t limit = head + transport::kQueueSteps;
  // A kernel may have read steps of the parts before; their slots are those of the steps that open now.
  if (!sends_) closeUpTo(head);
  openUpTo(limit);
  if (sends_) return;
  // Receive slots were posted before the part began, and some of its steps may be here already.
  const std::uint64_t here = control_.tail.load(std::memory_order_acquire);
  for (std::uint64_t step = first; step < std::min(limit, begun.end); ++step) post(begun, step, 0);
  receiveUpTo(here);
}

void ProfiledQueue::read() {
  const std::lock_guard lock(mutex_);
  closeUpTo(control_.head.load(std::memory_order_acquire));
}

void ProfiledQueue::posted(std::uint64_t step, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (!sends_) {
    closeUpTo(control_.head.load(std::memory_order_acquire));
    openUpTo(step + 1);
  }
  if (Part* part = partOf(step)) post(*part, step, sends_ ? bytes : 0);
}

void ProfiledQueue::moved(std::uint64_t step, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (!sends_) return receiveUpTo(step + 1);
  if (Part* part = partOf(step)) move(*part, step, bytes);
  closeUpTo(step + 1);
  openUpTo(step + 1 + transport::kQueueSteps);
}

// The part that a step belongs to; null if no profiled call has it.
ProfiledQueue::Part* ProfiledQueue::partOf(std::uint64_t step) {
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& one) { return one.first <= step && step < one.end; });
  return part == parts_.end() ? nullptr : &*part;
}

void ProfiledQueue::openUpTo(std::uint64_t end) {
  for (Part& part : parts_)
    for (; part.opened < std::min(end, part.end); ++part.opened) {
      const std::uint64_t step = part.opened;
      eventOf(step) = profiler_.startProxyStep(part.event, static_cast<int>(step - part.first));
      if (sends_) profiler_.record(eventOf(step), abi::kProxyStepSendGpuWait);
    }
}

void ProfiledQueue::post(Part& part, std::uint64_t step, std::size_t bytes) {
  if (step < part.posted) return;
  part.posted = step + 1;
  part.bytesPosted += bytes;
  profiler_.record(part.event, sends_ ? abi::kProxyOpSendPosted : abi::kProxyOpRecvPosted,
                   part.progress(part.posted, part.bytesPosted));
  profiler_.record(eventOf(step), sends_ ? abi::kProxyStepSendWait : abi::kProxyStepRecvWait);
}

void ProfiledQueue::move(Part& part, std::uint64_t step, std::size_t bytes) {
  if (step < part.moved) return;
  part.moved = step + 1;
  part.bytesMoved += bytes;
  const abi::ProxyOpProgress progress = part.progress(part.moved, part.bytesMoved);
  if (sends_) {
    profiler_.record(part.event, abi::kProxyOpSendTransmitted, progress);
    return;
  }
  profiler_.record(part.event, abi::kProxyOpRecvReceived, progress);
  profiler_.record(part.event, abi::kProxyOpRecvTransmitted, progress);
  profiler_.record(eventOf(step), abi::kProxyStepRecvGpuWait);
}

// Reports the steps below `end` as received. A part may begin after moved() was called for one of its steps and before `tail` counts that
// step. Then begin() cannot know of it, and it is reported by the next call. Its note stays until its slot is posted again.
void ProfiledQueue::receiveUpTo(std::uint64_t end) {
  for (Part& part : parts_)
    for (std::uint64_t step = part.moved; step < std::min(end, part.end); ++step)
      move(part, step, control_.notes[step % transport::kQueueSteps].bytes);
}

// Closes the steps below `end`.
void ProfiledQueue::closeUpTo(std::uint64_t end) {
  if (!sends_) receiveUpTo(end);
  for (Part& part : parts_) {
    if (part.over()) continue;
    while (part.closed < std::min(end, part.end)) {
      profiler_.stop(std::exchange(eventOf(part.closed++), nullptr));
      profiler_.record(part.event, sends_ ? abi::kProxyOpSendDone : abi::kProxyOpRecvDone,
                       part.progress(part.closed, part.bytesMoved));
    }
    if (part.over()) profiler_.stop(part.event);
  }
  while (!parts_.empty() && parts_.front().over()) parts_.pop_front();
}

ProfiledQueues::~ProfiledQueues() {
  for (void* const work : working_) profiler_.stopChannel(work, hostClock());
}

void* ProfiledQueues::enter(void* call, int channel, std::uint64_t time) {
  const std::lock_guard lock(mutex_);
  void* const work = profiler_.startChannel(call, channel, time);
  if (work != nullptr) working_.insert(work);
  return work;
}

void ProfiledQueues::leave(void* work, std::uint64_t time) {
  if (work == nullptr) return;
  const std::lock_guard lock(mutex_);
  working_.erase(work);
  profiler_.stopChannel(work, time);
}

std::optional<std::uint64_t> ProfiledQueues::firstOfKernel(const void* end, int steps) {
  const std::lock_guard lock(mutex_);
  if (foregoesKernels_) return std::nullopt;
  std::uint64_t& next = nextOfKernels_[end];
  return std::exchange(next, next + static_cast<std::uint64_t>(steps));
}

void ProfiledQueues::foregoKernels() {
  const std::lock_guard lock(mutex_);
  foregoesKernels_ = true;
}

template <typename End>
void ProfiledQueues::beginAt(End& end, ProfiledPart part, bool sends, MovedBy by) {
  if (end.pump() == nullptr || part.steps == 0) return;
  const std::optional<std::uint64_t> first =
      by == MovedBy::kGpu ? firstOfKernel(&end, part.steps) : std::optional(end.nextStep());
  if (!first || part.call == nullptr || !profiler_.listensToProxy()) return;
  part.peer = end.peer();
  part.sends = sends;
  ProfiledQueue* queue = known(&end);
  if (queue == nullptr) {
    auto made = std::make_unique<ProfiledQueue>(profiler_, mutex_, end.control(), sends);
    if (!end.pump()->observe(*made)) return;
    queue = made.get();
    const std::lock_guard lock(known_);
    queues_[&end] = std::move(made);
  }
  queue->begin(part, *first);
}

ProfiledQueue* ProfiledQueues::known(const void* end) {
  const std::lock_guard lock(known_);
  const auto found = queues_.find(end);
  return found == queues_.end() ? nullptr : found->second.get();
}

void ProfiledQueues::begin(transport::SendEnd& end, ProfiledPart part, MovedBy by) {
  beginAt(end, part, true, by);
}
void ProfiledQueues::begin(transport::RecvEnd& end, ProfiledPart part, MovedBy by) {
  // A step from a network that reduces is the result of a step that went into it, which has its event
  // already.
  if (end.peer() != transport::kReducingNetwork) beginAt(end, part, false, by);
}

void ProfiledQueues::read(transport::RecvEnd& end) {
  if (ProfiledQueue* const queue = known(&end)) queue->read();
}

}  // namespace xylem::plugins
