#include "runtime/comm/issue/issuer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/tuning/tuning_input.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/scheduler.h"
#include "runtime/plugins/tuner.h"

namespace xylem::comm {
namespace {

// After this long without progress the log names the rank that an operation waits for.
constexpr std::chrono::seconds kWarnAfter{60};

// In checked mode an operation fails after this long without progress, unless XYLEM_OPERATION_TIMEOUT says
// otherwise.
constexpr std::chrono::seconds kCheckedLimit{300};

// Exchanges of up to kBegunBytes take some ten microseconds; those of up to kInstantBytes take hardly any
// time.
constexpr std::size_t kBegunBytes = std::size_t{128} << 10, kInstantBytes = std::size_t{4} << 10;

// From this size on operations run for hundreds of microseconds, so waking a thread costs little beside them.
constexpr std::size_t kLastingBytes = std::size_t{4} << 20;

// Limits of what a call may take time for itself: bytes of a collective over all ranks, and transfers of a
// group and their bytes.
constexpr std::size_t kMaxExchangedBytes = std::size_t{128} << 10;
constexpr std::size_t kMaxTransfers = 16;
constexpr std::size_t kMaxTransferBytes = std::size_t{128} << 10;

std::size_t bytesOf(const CommOperation& operation) { return operation.count * elementBytes(operation.type); }

bool areSmallTransfers(std::span<const CommOperation> operations) {
  if (operations.size() > kMaxTransfers) return false;
  std::size_t bytes = 0;
  for (const CommOperation& operation : operations) {
    if (!isPointToPoint(operation.function)) return false;
    bytes += bytesOf(operation);
  }
  return bytes <= kMaxTransferBytes;
}

std::size_t bytesOf(std::span<const CommOperation> operations) {
  std::size_t bytes = 0;
  for (const CommOperation& operation : operations) bytes += bytesOf(operation);
  return bytes;
}

int collectivesIn(std::span<const CommOperation> operations) {
  return static_cast<int>(std::count_if(operations.begin(), operations.end(), isBusyCollective));
}

StallPolicy stallPolicyOf(const JoinRequest& request, const JobRoster& roster, const Watches& watches) {
  StallPolicy policy{.rank = roster.rank,
                     .span = kWarnAfter,
                     .fails = roster.checked,
                     .watch = watches.peers,
                     .stopped = watches.stopped,
                     .log = *request.log,
                     .checked = roster.checked ? roster.communicator : 0};
  const std::chrono::seconds limit(request.settings.integer(Setting::kOperationTimeout));
  if (policy.fails) policy.span = kCheckedLimit;
  if (limit.count() > 0) {
    policy.span = limit;
    policy.fails = true;
  }
  return policy;
}

std::optional<QueueProfile> makeProfile(plugins::Profiling* profiling) {
  if (profiling == nullptr) return std::nullopt;
  return std::optional<QueueProfile>(std::in_place, profiling->queues);
}

// The plan supposes that GPUs reach each other's memory where it has them do so.
std::optional<tuning::TuningModel> makeModel(const JobRoster& roster, const CommPlan& plan,
                                             const JoinRequest& request, const SharedGpus& gpus) {
  if (gpus.reachEachOther) return std::nullopt;
  const tuning::TuningInput input =
      tuning::tuningInput(plan.plan.connections, plan.plan.job().viewOf(roster.rank));
  return tuning::computeTuning(input, tuning::TuningOptions::from(withoutUnaskedLl128(request.settings)));
}

Choices makeChoices(const JobRoster& roster, const CommPlan& plan, const Wiring& wiring,
                    const JoinRequest& request, const std::optional<tuning::TuningModel>& model) {
  const int view = plan.plan.job().viewOf(roster.rank);
  CollNetUse collnet = collNetUse(plan.plan, view, request.settings,
                                  wiring.hasCollNet() ? reducedByAll(roster.peers) : 0, roster.hasGpus());
  collnet.log = request.log;
  collnet.off = wiring.whyNoCollNet();
  const connect::JobNodes& nodes = plan.plan.connections.nodes;
  const plugins::TunedJob job{static_cast<std::size_t>(roster.ranks()),
                              static_cast<std::size_t>(nodes.count()), roster.communicator,
                              nodes.minLocalRanks, nodes.maxLocalRanks};
  return Choices(model ? *model : plan.plan.tuning[static_cast<std::size_t>(view)], plan.channels,
                 plugins::findTuner(request.settings, job, request.log), std::move(collnet));
}

// Helpers are for ranks that share a host: what comes from other hosts is slower than one thread copies.
collectives::SharedWork sharedWorkOf(const JobRoster& roster, const CommPlan& plan,
                                     const JoinRequest& request) {
  if (plan.copyThreads < 2 || roster.hosts.ranks.size() < 2 || roster.hasGpus())
    return collectives::SharedWork();
  const auto helpers = device::Helpers::of(request.membership.device, plan.copyThreads - 1);
  request.log->info(Subsystem::kInit, "Copies within the host: {} threads share those of this rank",
                    helpers->threads() + 1);
  return collectives::SharedWork(helpers);
}

std::optional<Mailboxes> makeMailboxes(const JobRoster& roster, const CommPlan& plan,
                                       const collectives::SharedWork& shared, Wiring& wiring,
                                       const Watches& watches) {
  if (!Mailboxes::possible(roster.peers, plan.choice)) return std::nullopt;
  return std::optional<Mailboxes>(std::in_place, roster.rank, roster.peers, roster.ownCores().oversubscribed,
                                  plan.copies.choices, shared, wiring.transports(), watches.peers,
                                  watches.copies.teller());
}

std::optional<CallCheck> makeCheck(const JobRoster& roster, Wiring& wiring) {
  CheckRing* const ring = wiring.checkRing();
  if (ring == nullptr) return std::nullopt;
  return std::optional<CallCheck>(std::in_place, roster.rank, roster.ranks(), ring->next(), ring->previous());
}

}  // namespace

Issuer::Issuer(const JobRoster& roster, const CommPlan& plan, Wiring& wiring, const JoinRequest& request,
               const Watches& watches, SharedGpus gpus)
    : rank_(roster.rank),
      ranks_(roster.ranks()),
      log_(*request.log),
      checked_(roster.checked),
      checksTransfers_(roster.checked && !roster.hasGpus()),
      wiring_(wiring),
      onlyNvls_(roster.self().direct == Direct::kNvls),
      model_(makeModel(roster, plan, request, gpus)),
      choices_(makeChoices(roster, plan, wiring, request, model_)),
      choiceLog_(request.log, roster.rank),
      shared_(sharedWorkOf(roster, plan, request)),
      transfers_(plan.plan, plan.choice, rank_, plan.channels, checksTransfers_, request.settings,
                 wiring.transports(), watches.peers, *request.log, shared_),
      mailboxes_(makeMailboxes(roster, plan, shared_, wiring, watches)),
      check_(makeCheck(roster, wiring)),
      profiling_(wiring.observe(plugins::findProfiler(
          request.settings,
          {rank_, roster.communicator, roster.ranks(), roster.hosts.hosts, request.config.name},
          request.log))),
      profile_(makeProfile(profiling_)),
      recorder_(watches.recorder),
      patience_(request.settings.integer(Setting::kTimeout)),
      gpu_(std::move(gpus.executor)),
      launches_(stallPolicyOf(request, roster, watches), recorder_, check_ ? &*check_ : nullptr,
                profile_ ? &*profile_ : nullptr),
      spin_(!roster.ownCores().oversubscribed) {
  if (choices_.tuned()) launches_.noteTuner();
}

bool Issuer::prepare(std::span<const CommOperation> operations) {
  if (!gpu_) return true;
  launches_.askNowAndThen();
  launches_.throwIfFailed();
  const std::span<const TransferPart> parts = transfers_.cut(operations);
  // Both each time: another rank may wait for an answer about one connection before it makes the next.
  const bool connected = queuesAreConnected();
  const bool agreed = notAgreedOn(parts) == nullptr;
  warnOfUnreached(log_, gpu_->gpu(), gpu_->queues());
  return agreed && connected;
}

// Not into a graph, which may be complete after this call, and not in the calling thread's own default stream.
bool Issuer::mayConnectLater(std::span<const CommOperation> operations) {
  if (!gpu_ || staged_ || prepare(operations)) return false;
  return gpu_->captureOf(operations) == 0 &&
         std::ranges::none_of(operations, [](const CommOperation& operation) {
           return operation.gpuStream == gpu::kThreadsOwnStream;
         });
}

// A transfer whose ranks have not agreed yet on where its queue is; null if there is none. All of them go on, as ranks
// of one thread may wait for each other.
const TransferPart* Issuer::notAgreedOn(std::span<const TransferPart> parts) {
  const TransferPart* found = nullptr;
  for (const TransferPart& part : parts)
    if (transport::Connection* const made = part.path.connection;
        made != nullptr && !(made->ready() && gpu_->queues().agreeOnMemory(*made)))
      found = &part;
  return found;
}

// A kernel cannot wait until a queue is made: the calling thread does.
void Issuer::awaitConnections(std::span<const CommOperation> operations) {
  const Deadline deadline = Deadline::after(patience_);
  device::Backoff backoff(device::Scheduler::instance().policy());
  while (!prepare(operations)) {
    if (deadline.passed()) {
      if (const TransferPart* const missing = notAgreedOn(transfers_.cut(operations)))
        throw Error(
            ResultCode::kRemoteError,
            "rank {}, GPU {}: rank {} has not connected for {} within {} s (XYLEM_TIMEOUT): its send or "
            "receive must be called at the same time, by another thread or in the same group",
            rank_, gpu_->gpu().device(), missing->path.connection->peer(),
            name(operations[missing->place].function), patience_.count());
    }
    backoff.pause();
  }
}

void Issuer::stage(std::span<const CommOperation> operations) {
  unstage();
  const gpu::EnteredDevice entered(gpu_->gpu());
  const std::uint64_t capture = gpu_->captureOf(operations);
  awaitConnections(operations);
  if (choiceLog_.enabled()) choiceLog_.write(operations, scheduling());
  schedule(operations, scheduling(), works_.work());
  // Blocks write down times only for a profiler that wants them. The times of a graph's replays are not read.
  const bool follows = capture == 0 && profiling_ != nullptr && profiling_->profiler->followsChannels();
  Staged staged{capture, nullptr, tellProfiler(operations, follows)};
  using Use = gpu::KernelLaunch::Use;
  if (capture == 0) {
    gpu_->fill(works_.work(), operations, gpu_->kernel(), Use::kOnce);
  } else {
    staged.captured = &unusedCapture();
    gpu_->fill(works_.work(), operations, staged.captured->renew(), Use::kInGraph);
  }
  staged_.emplace(std::move(staged));
}

CapturedLaunch& Issuer::unusedCapture() {
  const auto unused =
      std::find_if(captured_.begin(), captured_.end(),
                   [](const std::unique_ptr<CapturedLaunch>& one) { return one->isUnused(); });
  if (unused != captured_.end()) return **unused;
  captured_.push_back(std::make_unique<CapturedLaunch>(launches_, gpu_->gpu(), replays_, gpu_->newKernel()));
  return *captured_.back();
}

void Issuer::launchOnGpu(std::span<const CommOperation> operations) {
  const gpu::EnteredDevice entered(gpu_->gpu());
  if (!staged_) stage(operations);
  const Staged staged = std::move(*staged_);
  unstage();
  if (staged.capture != 0) return addToGraph(operations, staged);
  if (gpu_->kernel().lanes() == 0) return;
  if (profile_) works_.work().forEachItem([this](WorkItem& item) { profile_->launches(item); });
  try {
    gpu_->start(operations);
  } catch (const Error& error) {
    gpu_->kernel().giveUp();  // its blocks may run
    launches_.fail(error);
    throw;
  }
  LaunchTask& launch = launches_.next();
  launch.take(works_.handedOver());
  launch.take(gpu_->exchangeKernel(launch.leaveKernel()));
  record(operations, launch);
  launches_.issue(launch, *operations.front().stream);
}

// Puts the kernel that is filled into the graph that becomes of the capture.
void Issuer::addToGraph(std::span<const CommOperation> operations, const Staged& staged) {
  if (staged.captured->kernel().lanes() == 0) return;
  launches_.throwIfFailed();
  if (profile_) profile_->captures();
  gpu_->capture(*staged.captured, operations, staged.capture);
  staged.captured->watchReplays();
}

void Issuer::launch(std::span<const CommOperation> operations, std::uint64_t again) {
  launches_.askNowAndThen();
  if (gpu_) return launchOnGpu(operations);
  // Operations that the program has issued before may only need a thread that runs them. If one fails, so does this call.
  const bool isFirst =
      comesFirst(operations) ||
      (device::Scheduler::instance().catchUp(*operations.front().stream) && comesFirst(operations));
  launches_.throwIfFailed();
  const bool isKept = works_.again(operations, again);
  const GroupBytes bytes = isKept ? works_.bytes() : makeWork(operations);
  const CallEvents events = tellProfiler(operations);
  const bool begun = isFirst && (isKept || (isSmall(operations) && queuesAreReady(operations.front())));
  if (!begun || !stepNow(bytes.all)) return issue(operations, bytes, begun);
  const std::uint64_t path = bytes.exchanged != kNotExchanged ? kDirectPath : 0;
  if (isKept) return recorder_.addDone(operations, works_.calls(), path);
  recorder_.addDone(operations, path);
  keepWork(operations, bytes);
}

// Whether nothing stands before the operations, in one stream. Once earlier launches are over, their writes are visible here, whatever thread
// ran them. A thread that enqueues into the stream from now on does so beside this call, which has not returned, and so has no order with it.
bool Issuer::comesFirst(std::span<const CommOperation> operations) const {
  const device::Stream* const stream = operations.front().stream;
  for (const CommOperation& operation : operations)
    if (operation.stream != stream) return false;
  return !checked_ && launches_.idle() && !stream->pending();
}

// Whether the operations are so small that the call may take time for them.
bool Issuer::isSmall(std::span<const CommOperation> operations) const {
  const CommOperation& first = operations.front();
  if (isPointToPoint(first.function)) return areSmallTransfers(operations);
  return operations.size() == 1 && first.count > 0 && exchanges() && mailboxes_->ready() &&
         bytesOf(first) * static_cast<std::size_t>(ranks_) <= kMaxExchangedBytes;
}

// Whether a launch of them takes so little time that a later call may take it for them.
bool Issuer::isBrief(std::span<const CommOperation> operations, const GroupBytes& bytes) const {
  if (operations.size() > kMaxTransfers) return false;
  if (bytes.exchanged != kNotExchanged) return bytes.all <= kMaxExchangedBytes;
  const bool onlyTransfers = collectivesIn(operations) == 0;
  return bytes.all * (onlyTransfers ? 1 : static_cast<std::size_t>(ranks_)) <= kMaxTransferBytes;
}

GroupBytes Issuer::makeWork(std::span<const CommOperation> operations) {
  if (choiceLog_.enabled()) choiceLog_.write(operations, scheduling());
  const std::size_t exchanged = schedule(operations, scheduling(), works_.work());
  const bool isExchange = exchanged != kNotExchanged;
  return {exchanged, isExchange ? exchanged * static_cast<std::size_t>(ranks_) : bytesOf(operations)};
}

// Whether the items of small operations can start: each has a queue of its own, or the mailboxes, which is
// connected.
bool Issuer::queuesAreReady(const CommOperation& first) {
  return !isPointToPoint(first.function) || (transfers_.apart() && queuesAreConnected());
}

bool Issuer::queuesAreConnected() {
  try {
    return transfers_.connect();
  } catch (const Error& error) {
    launches_.fail(error);
    launches_.throwIfFailed();
    throw;
  }
}

// Keeps the items of operations that are done, for groups that repeat them.
void Issuer::keepWork(std::span<const CommOperation> operations, const GroupBytes& bytes) {
  // An item from this rank to itself has the buffers of two operations.
  const bool withSelf =
      std::any_of(operations.begin(), operations.end(), [this](const CommOperation& operation) {
        return isPointToPoint(operation.function) && operation.peer == rank_;
      });
  if (withSelf) return;
  works_.keep(operations, bytes);
}

// Steps the items, which move `bytes` in all, for a moment. Returns whether all are done; otherwise a launch goes on with them, or ends
// with their error.
bool Issuer::stepNow(std::size_t bytes) {
  const auto step = [this] { return works_.step(launches_.observer()); };
  try {
    return spin_.finishes(bytes, step);
  } catch (const Error& error) {
    launches_.fail(error);
    return false;
  }
}

// Hands the work to a task of the first stream. Fences hold the other streams until it is over.
void Issuer::issue(std::span<const CommOperation> operations, const GroupBytes& bytes, bool begun) {
  LaunchTask& launch = launches_.next();
  const std::size_t exchanged = bytes.exchanged;
  launch.setBrief(isBrief(operations, bytes));
  launch.take(works_.handedOver(), begun);
  record(operations, launch);
  device::Stream* const first = operations.front().stream;
  if (begun || (exchanged <= kInstantBytes && !first->pending())) launch.recorder().startAtOnce();
  std::set<device::Stream*> others;
  for (const CommOperation& operation : operations)
    if (operation.stream != first && others.insert(operation.stream).second) launch.fence(*operation.stream);
  launches_.issue(launch, *first, bytesOf(operations) >= kLastingBytes);
  // Begin at once, so that the peers need not wait until this rank waits for its stream.
  if (exchanged <= kBegunBytes && !begun) device::Scheduler::instance().begin(*first);
}

Scheduling Issuer::scheduling() {
  return {rank_,
          ranks_,
          wiring_.stepBytes(),
          wiring_.channels(),
          choices_,
          transfers_,
          mailboxes_ ? &*mailboxes_ : nullptr,
          onlyNvls_,
          checksTransfers_};
}

// The path of an operation in the flight recorder. `collectives`: the number of them in its group.
std::uint64_t Issuer::pathOf(const CommOperation& operation, int collectives) {
  if (!isBusyCollective(operation)) return 0;
  return exchanges() ? kDirectPath : packPath(choices_.of(operation, collectives));
}

// Notes the operations in the flight recorder, and for the comparison in checked mode.
void Issuer::record(std::span<const CommOperation> operations, LaunchTask& launch) {
  const int collectives = collectivesIn(operations);
  for (const CommOperation& operation : operations) {
    launch.recorder().add(operation, pathOf(operation, collectives));
    if (checked_ && !isPointToPoint(operation.function)) launch.compare(signatureOf(operation));
  }
}

// Starts the profiler's events of operations whose items have been made.
CallEvents Issuer::startEvents(std::span<const CommOperation> operations, bool follows) {
  const int collectives = collectivesIn(operations);
  return CallEvents(*profiling_, operations, works_.work(), follows,
                    [&](const CommOperation& operation, int channels) {
                      return profiledCall(operation, collectives, channels);
                    });
}

// Describes an operation to the profiler.
plugins::ProfiledCall Issuer::profiledCall(const CommOperation& operation, int collectives, int channels) {
  plugins::ProfiledCall call;
  call.channels = channels;
  call.function = operation.function;
  call.send = operation.send;
  call.receive = operation.receive;
  call.count = operation.count;
  call.type = operation.type;
  call.peer = operation.peer;
  if (isPointToPoint(call.function) || operation.count == 0) return call;
  call.op = operation.reduction.op;
  call.bytes = bytesOf(operation);
  call.direct = exchanges();
  if (!isPlanned(operation.function)) return call;
  const ChosenAlgorithm& chosen = choices_.of(operation, collectives);
  call.algorithm = chosen.algorithm;
  call.protocol = chosen.protocol;
  return call;
}

float Issuer::predict(std::span<const CommOperation> operations) const {
  float time = 0;
  for (const CommOperation& operation : operations)
    if (isPlanned(operation.function)) time += choices_.predict(operation);
  return time;
}

}  // namespace xylem::comm
