#include "runtime/comm/issue/launch_task.h"

#include <cstring>

#include "runtime/comm/issue/call_check.h"
#include "runtime/comm/issue/launch_queue.h"
#include "runtime/device/scheduler.h"
#include "runtime/plugins/profiled_network.h"
#include "runtime/transport/collnet/coll_network.h"

namespace xylem::comm {
namespace {

std::string nameOf(int peer) {
  return peer == transport::kReducingNetwork ? "the network" : fmt::format("rank {}", peer);
}

// After this long without progress peers are suspected of being stopped.
constexpr std::chrono::milliseconds kPause{100};

// This long before the time-out, peers are asked whether they are at work. A rank whose peer is at work waits
// for this long after the time-out: a rank nearer to the cause reports it in the meantime.
constexpr std::chrono::seconds kTimeToAnswer{1};
constexpr std::chrono::seconds kTimeToReport{2};

// A rank whose calls differ from the others' gives up at once. The other ranks get this long to find the
// difference themselves, in the calls that are still on their way to them, before they report that the rank
// gave up.
constexpr std::chrono::seconds kTimeToCompare{1};

constexpr int kNobody = -1;  // no rank in particular

std::span<const collectives::ProgramWork> programsOfItem(const WorkItem& work) {
  return {work.program.data(), static_cast<std::size_t>(work.programs)};
}

void profileProgram(plugins::ProfiledQueues& queues, const collectives::ProgramWork& program,
                    plugins::ProfiledPart part) {
  const collectives::ProgramSteps steps = collectives::countSteps(program);
  const auto begin = [&](auto ends, const auto& counts) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] == nullptr) continue;
      part.steps = counts[i];
      part.stepBytes = std::min(program.mostBytes, ends[i]->stepBytes(program.protocol));
      queues.begin(*ends[i], part);
    }
  };
  begin(program.to, steps.to);
  begin(program.from, steps.from);
}

template <typename End>
void profileTransfer(plugins::ProfiledQueues& queues, End& end, const collectives::TransferWork& work,
                     plugins::ProfiledPart part) {
  part.stepBytes = end.stepBytes(work.protocol);
  part.steps = static_cast<int>((work.bytes + part.stepBytes - 1) / part.stepBytes);
  queues.begin(end, part);
}

}  // namespace

void LaunchTask::begin(std::uint64_t number) {
  number_ = number;
  usedQueues_ = 0;
  queueOfChannel_.clear();
  queueOfTransfer_.clear();
  open_.clear();
  usedFences_ = 0;
  awaitedFences_.store(0, std::memory_order_relaxed);
  over_.store(false, std::memory_order_relaxed);
  users_.store(1, std::memory_order_relaxed);
  begun_ = stalled_ = sawPeerEnd_ = warned_ = false;
  collectives_.clear();
  comparing_ = false;
  compared_ = true;
  news_.reset();
  recorder_.begin(launches_.recorder());
}

int LaunchTask::newQueue() {
  if (usedQueues_ == queues_.size()) queues_.push_back(std::make_unique<WorkQueue>());
  WorkQueue& queue = *queues_[usedQueues_];
  queue.used = queue.current = queue.usedBatch = 0;
  queue.started = false;
  open_.push_back(&queue);
  return static_cast<int>(usedQueues_++);
}

int LaunchTask::queueFor(std::vector<int>& queues, std::size_t key) {
  if (queues.size() <= key) queues.resize(key + 1, -1);
  if (queues[key] < 0) queues[key] = newQueue();
  return queues[key];
}

WorkItem& LaunchTask::add(int index) {
  WorkQueue& queue = *queues_[static_cast<std::size_t>(index)];
  if (queue.used == queue.items.size()) queue.items.emplace_back();
  WorkItem& work = queue.items[queue.used++];
  work.programs = 1;
  work.scratchBytes = 0;
  work.scalarAddress = nullptr;
  work.mailboxes = nullptr;
  work.batched = 0;
  work.checked = false;
  work.event = nullptr;
  return work;
}

collectives::DirectWork& LaunchTask::addToBatch(int index) {
  WorkQueue& queue = *queues_[static_cast<std::size_t>(index)];
  if (queue.usedBatch == queue.batch.size()) queue.batch.emplace_back();
  return queue.batch[queue.usedBatch++];
}

void LaunchTask::adopt(const LaunchRecorder& recorder) {
  recorder_ = recorder;
  queues_.front()->started = true;
}

void LaunchTask::adopt(const LaunchRecorder& recorder, std::span<const collectives::Transfer> transfers) {
  recorder_ = recorder;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    queues_[i]->transfer = transfers[i];
    queues_[i]->started = true;
  }
}

void LaunchTask::fence(device::Stream& stream) {
  const auto index = static_cast<std::size_t>(usedFences_++);
  if (index == fences_.size()) fences_.push_back(std::make_unique<Fence>(*this));
  fences_[index]->arrived_ = false;
  awaitedFences_.fetch_add(1, std::memory_order_relaxed);
  users_.fetch_add(1, std::memory_order_relaxed);
  device::Scheduler::instance().enqueue(stream, *fences_[index]);
}

device::Progress LaunchTask::Fence::step() {
  if (!arrived_) {
    arrived_ = true;
    launch_.awaitedFences_.fetch_sub(1, std::memory_order_release);
  }
  return launch_.over_.load(std::memory_order_acquire) ? device::Progress::kDone
                                                       : device::Progress::kWouldBlock;
}

// A launch runs once it is its turn among the launches of the communicator, and all streams of its group have
// reached it. A step goes round all queues once.
device::Progress LaunchTask::step() {
  if (!begun_) {
    begun_ = true;
    launches_.noteBegun();
  }
  launches_.throwIfFailed();
  if (!launches_.isTurn(number_) || awaitedFences_.load(std::memory_order_acquire) != 0)
    return device::Progress::kWouldBlock;
  recorder_.start();
  bool advanced = false;
  if (!compared_) compareCalls(advanced);
  for (std::size_t i = 0; i < open_.size();) {
    if (stepQueue(*open_[i], advanced)) {
      open_[i] = open_.back();
      open_.pop_back();
    } else {
      ++i;
    }
  }
  if (open_.empty() && compared_) return device::Progress::kDone;
  if (!advanced) return device::Progress::kWouldBlock;
  stalled_ = sawPeerEnd_ = false;
  recorder_.goOn();
  return device::Progress::kAdvanced;
}

bool LaunchTask::stepQueue(WorkQueue& queue, bool& advanced) {
  while (queue.current < queue.used) {
    if (!queue.started && !startItem(queue)) return false;
    const WorkItem& work = queue.items[queue.current];
    const bool through = isPointToPoint(work.function) ? stepTransfer(queue, advanced)
                         : work.mailboxes != nullptr   ? stepExchange(queue, advanced)
                                                       : stepPrograms(queue, advanced);
    if (!through) return false;
    if (work.event != nullptr) profileEnd(work);
    ++queue.current;
    queue.started = false;
  }
  return true;
}

// An exchange of a batch may be declined, by all ranks alike: then its collectives follow each other.
bool LaunchTask::stepExchange(WorkQueue& queue, bool& advanced) {
  const WorkItem& work = queue.items[queue.current];
  for (;;) switch (work.mailboxes->exchange().step()) {
      case collectives::DirectExchange::Outcome::kDone:
        advanced = true;
        if (work.batched == 0 || queue.atOnce || queue.inBatch == work.firstOfBatch + work.batched)
          return true;
        startNextOfBatch(queue);
        break;
      case collectives::DirectExchange::Outcome::kAdvanced:
        advanced = true;
        return false;
      case collectives::DirectExchange::Outcome::kWouldBlock:
        return false;
      case collectives::DirectExchange::Outcome::kDeclined:
        queue.atOnce = false;
        startNextOfBatch(queue);
        break;
    }
}

void LaunchTask::startNextOfBatch(WorkQueue& queue) {
  queue.items[queue.current].mailboxes->exchange().start(queue.batch[queue.inBatch++]);
}

bool LaunchTask::stepTransfer(WorkQueue& queue, bool& advanced) {
  const device::Progress progress = queue.transfer.step();
  advanced = advanced || progress != device::Progress::kWouldBlock;
  return progress == device::Progress::kDone;
}

bool LaunchTask::stepPrograms(WorkQueue& queue, bool& advanced) {
  const WorkItem& work = queue.items[queue.current];
  bool through = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.programs); ++i) {
    if (queue.done[i]) continue;
    const device::Progress progress = queue.executors[i].step();
    advanced = advanced || progress != device::Progress::kWouldBlock;
    queue.done[i] = progress == device::Progress::kDone;
    through = through && queue.done[i];
  }
  return through;
}

bool LaunchTask::startItem(WorkQueue& queue) {
  WorkItem& work = queue.items[queue.current];
  if (isPointToPoint(work.function)) return startTransfer(queue);
  if (!compared_) return false;
  return work.mailboxes == nullptr ? startPrograms(queue) : startExchange(queue);
}

bool LaunchTask::startExchange(WorkQueue& queue) {
  WorkItem& work = queue.items[queue.current];
  if (!work.mailboxes->advance()) return false;
  if (work.batched > 0) {
    queue.inBatch = work.firstOfBatch;
    queue.atOnce = work.mailboxes->exchange().startBatch({&queue.batch[work.firstOfBatch], work.batched});
    if (!queue.atOnce) startNextOfBatch(queue);
    return queue.started = true;
  }
  if (work.scalarAddress != nullptr)
    std::memcpy(work.exchange.reduction.factor.element.data(), work.scalarAddress, work.scalarBytes);
  work.mailboxes->exchange().start(work.exchange);
  return queue.started = true;
}

bool LaunchTask::startTransfer(WorkQueue& queue) {
  const WorkItem& work = queue.items[queue.current];
  const TransferPart& part = work.transfer;
  if (part.connection != nullptr && !part.connection->advance()) return false;
  const collectives::TransferWork connected = part.connected();
  if (work.checked && !compareTransfer(queue, work, connected)) return false;
  if (work.event != nullptr) profileStart(work);
  queue.transfer.start(connected);
  return queue.started = true;
}

bool LaunchTask::startPrograms(WorkQueue& queue) {
  WorkItem& work = queue.items[queue.current];
  if (work.event != nullptr) profileStart(work);
  if (queue.scratch.size() < work.scratchBytes) queue.scratch.resize(work.scratchBytes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.programs); ++i) {
    collectives::ProgramWork& program = work.program[i];
    program.buffers.scratch = queue.scratch.data();
    if (work.scalarAddress != nullptr)
      std::memcpy(program.reduction.factor.element.data(), work.scalarAddress, work.scalarBytes);
    queue.executors[i].start(program);
    queue.done[i] = false;
  }
  return queue.started = true;
}

// Tells the profiler how many steps of which queues the item takes, before the first of them.
void LaunchTask::profileStart(const WorkItem& work) {
  if (launches_.profiled() == nullptr) return;
  plugins::ProfiledQueues& queues = *launches_.profiled();
  const plugins::ProfiledPart part{.call = work.event, .channel = work.channel};
  if (!isPointToPoint(work.function)) {
    for (const collectives::ProgramWork& program : programsOfItem(work))
      profileProgram(queues, program, part);
    return;
  }
  const collectives::TransferWork transfer = work.transfer.connected();
  if (transfer.to != nullptr) profileTransfer(queues, *transfer.to, transfer, part);
  if (transfer.from != nullptr) profileTransfer(queues, *transfer.from, transfer, part);
}

// Tells the profiler that all that the item receives has been read.
void LaunchTask::profileEnd(const WorkItem& work) {
  if (launches_.profiled() == nullptr) return;
  plugins::ProfiledQueues& queues = *launches_.profiled();
  if (isPointToPoint(work.function)) {
    if (transport::RecvEnd* from = work.transfer.connected().from) queues.read(*from);
    return;
  }
  for (const collectives::ProgramWork& program : programsOfItem(work))
    for (transport::RecvEnd* from : program.from)
      if (from != nullptr) queues.read(*from);
}

// The rank that the queue's current item waits for; kNobody if that is unknown.
int LaunchTask::waitsFor(const WorkQueue& queue) const {
  const WorkItem& work = queue.items[queue.current];
  if (work.mailboxes != nullptr)
    return queue.started ? work.mailboxes->exchange().waitsFor() : work.mailboxes->waitsFor();
  if (isPointToPoint(work.function))
    return work.transfer.connection == nullptr ? kNobody : work.transfer.connection->peer();
  if (!queue.started) return kNobody;
  for (std::size_t i = 0; i < static_cast<std::size_t>(work.programs); ++i)
    if (!queue.done[i]) return queue.executors[i].waitsFor();
  return kNobody;
}

// Called while nothing advances. Finds out for each queue which rank it waits for, and throws if that rank is
// gone, stopped or too slow.
void LaunchTask::checkStall() {
  if (!launches_.isTurn(number_) || awaitedFences_.load(std::memory_order_acquire) != 0) return;
  if (!stalled_) {
    stalled_ = true;
    asked_ = false;
    stallStart_ = Clock::now();
  }
  checkPeers();
  bool end = !compared_ && awaitCalls();
  bool waits = !compared_;
  for (const WorkQueue* queue : open_) {
    const int peer = waitsFor(*queue);
    if (peer == kNobody) continue;
    if (!waits) recorder_.wait(peer == transport::kReducingNetwork ? kNobody : peer, WaitKind::kData);
    waits = true;
    const char* what = name(queue->items[queue->current].function);
    std::string how;
    if (launches_.watch().gone(peer, how)) {
      // It may have left after it had finished its part, which is then in the queues: step once more first.
      if (sawPeerEnd_)
        throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} waits for it in {}", peer,
                    how, launches_.rank(), what);
      end = true;
    }
    checkPatience(*queue, peer);
    // A collective needs all ranks, so any stopped one holds it up, not only the peer.
    if (Clock::now() - stallStart_ > kPause)
      launches_.stopped().check(
          isPointToPoint(queue->items[queue->current].function) ? peer : StoppedPeers::kAll, what);
  }
  sawPeerEnd_ = end;
}

void LaunchTask::checkPatience(const WorkQueue& queue, int peer) {
  const StallPolicy& policy = launches_.stallPolicy();
  const Clock::duration waited = Clock::now() - stallStart_;
  if (policy.fails && !asked_ && waited >= policy.span - kTimeToAnswer) {
    asked_ = true;
    launches_.watch().ask();
  }
  if (waited < policy.span) return;
  if (!policy.fails && warned_) return;
  const char* what = name(queue.items[queue.current].function);
  if (policy.fails) return timeOut(peer, what, waited);
  launches_.log().warn("{} : rank {} has waited {} s for {}, which is alive{}", what, launches_.rank(),
                       policy.span.count(), nameOf(peer), launches_.stopped().describe());
  warned_ = true;
}

// The operation took too long. If the peer is at work, it waits itself, and a rank nearer to the cause will
// report it: only a rank whose peer does not answer fails at once.
void LaunchTask::timeOut(int peer, const char* what, Clock::duration waited) const {
  const StallPolicy& policy = launches_.stallPolicy();
  PeerWatch& watch = launches_.watch();
  const PeerWatch::Answer answer = watch.answerOf(peer);
  if (watch.asked() && answer != PeerWatch::Answer::kNone && waited < policy.span + kTimeToReport) return;
  throw Error(ResultCode::kRemoteError, "timed out after {} s in {}: rank {} waits for {}{}{}",
              policy.span.count(), what, launches_.rank(), nameOf(peer),
              answer == PeerWatch::Answer::kNone ? " (no answer: it is stopped, or does something else)" : "",
              launches_.stopped().describe());
}

void LaunchTask::finish(const Error* error) noexcept {
  if (error != nullptr) launches_.fail(*error);
  recorder_.end(error != nullptr);
  over_.store(true, std::memory_order_release);
  launches_.passTurn();
  leave();
}

void LaunchTask::leave() noexcept {
  if (usedFences_ == 0 || users_.fetch_sub(1, std::memory_order_acq_rel) == 1) launches_.giveBack(*this);
}

// Checked mode

void LaunchTask::compareCalls(bool& advanced) {
  CallCheck& check = *launches_.check();
  if (!comparing_) check.begin(collectives_);
  comparing_ = true;
  const device::Progress progress = check.step();
  advanced = advanced || progress != device::Progress::kWouldBlock;
  compared_ = progress == device::Progress::kDone;
}

// A sender sends its call ahead of the data. The receiver compares it with its own, which it has at hand.
// Returns whether that is done.
bool LaunchTask::compareTransfer(WorkQueue& queue, const WorkItem& work,
                                 const collectives::TransferWork& ends) const {
  const CallWords mine = pack(work.call);
  if (work.function == Function::kSend)
    return ends.to->send(Protocol::kLl, reinterpret_cast<const std::byte*>(mine.data()), sizeof mine);
  if (!ends.from->take(Protocol::kLl, reinterpret_cast<std::byte*>(queue.told.data()), sizeof queue.told))
    return false;
  const std::optional<CallSignature> sent = unpackCall(queue.told);
  if (sent && sent->function == Function::kSend && sent->count == work.call.count &&
      sent->type == work.call.type)
    return true;
  throw Error(ResultCode::kInvalidUsage,
              "a receive does not fit its send: rank {}: {}; rank {}: {} (found by XYLEM_CHECK=1)",
              work.transfer.connection->peer(), sent ? describe(*sent) : "something else", launches_.rank(),
              describe(work.call));
}

// Throws if a peer has given up; in checked mode not before this rank had time to find out itself what
// differs.
void LaunchTask::checkPeers() {
  if (!news_) {
    try {
      launches_.watch().throwIfAborted();
      return;
    } catch (const Error& error) {
      if (compared_) throw;
      news_ = error;
      stallStart_ = Clock::now();
    }
  }
  if (compared_ || Clock::now() - stallStart_ > kTimeToCompare) throw Error(*news_);
}

// Returns whether the previous rank, which passes on the calls of all others, is gone. Throws if it already
// was when this was called last, or if the comparison takes too long.
bool LaunchTask::awaitCalls() {
  const CallCheck& check = *launches_.check();
  recorder_.wait(check.missing(), WaitKind::kCheck);
  const int previous = check.previousRank();
  std::string how;
  const bool gone = launches_.watch().gone(previous, how);
  if (gone && sawPeerEnd_)
    throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} compares its calls with it",
                previous, how, launches_.rank());
  if (Clock::now() - stallStart_ >= launches_.stallPolicy().span)
    throw Error(ResultCode::kRemoteError, "timed out after {} s: {} (found by XYLEM_CHECK=1)",
                launches_.stallPolicy().span.count(), check.missingText());
  return gone;
}

}  // namespace xylem::comm
