#include "runtime/comm/issue/issuer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/device/scheduler.h"
#include "runtime/plugins/tuner.h"

namespace xylem::comm {
namespace {

// After this long without progress the log names the rank that an operation waits for.
constexpr std::chrono::seconds kWarnAfter{60};

// In checked mode an operation fails after this long without progress, unless XYLEM_OPERATION_TIMEOUT says
// otherwise.
constexpr std::chrono::seconds kCheckedLimit{300};

// Exchanges of up to kBriefBytes take some ten microseconds; those of up to kInstantBytes take hardly any
// time.
constexpr std::size_t kBriefBytes = std::size_t{128} << 10, kInstantBytes = std::size_t{4} << 10;

// From this size on operations run for hundreds of microseconds, so waking a thread costs little beside them.
constexpr std::size_t kLastingBytes = std::size_t{4} << 20;

std::size_t bytesOf(std::span<const CommOperation> operations) {
  std::size_t bytes = 0;
  for (const CommOperation& operation : operations) bytes += operation.count * elementBytes(operation.type);
  return bytes;
}

int collectivesIn(std::span<const CommOperation> operations) {
  return static_cast<int>(std::count_if(operations.begin(), operations.end(), isBusyCollective));
}

StallPolicy stallPolicyOf(const Settings& settings, bool checked) {
  const std::chrono::seconds limit(settings.integer(Setting::kOperationTimeout));
  if (limit.count() > 0) return {limit, true};
  return checked ? StallPolicy{kCheckedLimit, true} : StallPolicy{kWarnAfter, false};
}

Choices makeChoices(const JobRoster& roster, const CommPlan& plan, const Wiring& wiring,
                    const JoinRequest& request) {
  const int view = plan.plan.job().viewOf(roster.rank);
  CollNetUse collnet =
      collNetUse(plan.plan, view, request.settings, wiring.hasCollNet() ? reducedByAll(roster.peers) : 0);
  collnet.log = request.log;
  const plugins::TunedJob job{static_cast<std::size_t>(roster.ranks()),
                              static_cast<std::size_t>(roster.hosts.hosts)};
  return Choices(plan.plan.tuning[static_cast<std::size_t>(view)], plan.channels,
                 plugins::findTuner(request.settings, job, request.log), std::move(collnet));
}

std::optional<Mailboxes> makeMailboxes(const JobRoster& roster, const CommPlan& plan, Wiring& wiring,
                                       PeerWatch& watch) {
  if (!Mailboxes::possible(roster.peers, plan.choice)) return std::nullopt;
  return std::optional<Mailboxes>(std::in_place, roster.rank, roster.peers, roster.ownCores().oversubscribed,
                                  wiring.transports(), watch);
}

std::optional<CallCheck> makeCheck(const JobRoster& roster, Wiring& wiring) {
  CheckRing* const ring = wiring.checkRing();
  if (ring == nullptr) return std::nullopt;
  return std::optional<CallCheck>(std::in_place, roster.rank, roster.ranks(), ring->next(), ring->previous());
}

}  // namespace

Issuer::Issuer(const JobRoster& roster, const CommPlan& plan, Wiring& wiring, const JoinRequest& request,
               const Watches& watches)
    : rank_(roster.rank),
      ranks_(roster.ranks()),
      checked_(roster.checked),
      wiring_(wiring),
      choices_(makeChoices(roster, plan, wiring, request)),
      transfers_(plan.plan, plan.choice, rank_, plan.channels, checked_, request.settings,
                 wiring.transports(), watches.peers, *request.log),
      mailboxes_(makeMailboxes(roster, plan, wiring, watches.peers)),
      check_(makeCheck(roster, wiring)),
      profiling_(
          wiring.observe(plugins::findProfiler(request.settings, {rank_, roster.communicator}, request.log))),
      launches_(rank_, watches.peers, watches.stopped, stallPolicyOf(request.settings, checked_),
                *request.log, watches.recorder, check_ ? &*check_ : nullptr,
                profiling_ != nullptr ? &profiling_->queues : nullptr) {
  // In checked mode every operation is compared first, by a launch.
  if (!checked_)
    inline_.emplace(ranks_, !roster.ownCores().oversubscribed, mailboxes_ ? &*mailboxes_ : nullptr,
                    transfers_, launches_, watches.recorder);
}

// Describes an operation to the profiler.
plugins::ProfiledCall Issuer::profiledCall(const CommOperation& operation, int collectives) {
  plugins::ProfiledCall call;
  call.function = operation.function;
  call.send = operation.send;
  call.receive = operation.receive;
  call.count = operation.count;
  call.type = operation.type;
  call.peer = operation.peer;
  if (isPointToPoint(call.function) || operation.count == 0) return call;
  call.op = operation.reduction.op;
  call.bytes = operation.count * elementBytes(operation.type);
  call.direct = mailboxes_.has_value();
  if (!isPlanned(operation.function)) return call;
  const ChosenAlgorithm& chosen = choices_.of(operation, collectives);
  call.algorithm = chosen.algorithm;
  call.protocol = chosen.protocol;
  call.channels = chosen.channels;
  return call;
}

void Issuer::launchProfiled(std::span<const CommOperation> operations) {
  plugins::Profiler& profiler = *profiling_->profiler;
  plugins::ProfiledGroup group(profiler);
  const int collectives = collectivesIn(operations);
  std::vector<CommOperation> noted(operations.begin(), operations.end());
  const bool followed = profiler.listensToProxy();
  for (CommOperation& operation : noted) {
    void* const event = group.start(profiledCall(operation, collectives));
    if (followed) operation.event = event;
  }
  issue(noted);
}

void Issuer::issue(std::span<const CommOperation> operations) {
  // Only launches report the steps of queues, to a profiler that follows them.
  const bool tries = inline_ && !(profiling_ != nullptr && profiling_->profiler->listensToProxy());
  const auto outcome = tries ? inline_->tryNow(operations) : InlineExecutor::Outcome::kNotTaken;
  if (outcome == InlineExecutor::Outcome::kDone) return;
  if (outcome == InlineExecutor::Outcome::kBegun) return issueBegun(operations);
  LaunchTask& launch = launches_.next();
  device::Stream* first = operations.front().stream;
  std::optional<std::size_t> exchanged;
  try {
    exchanged = schedule(operations, scheduling(), launch);
    record(operations, launch);
  } catch (...) {
    launches_.drop(launch);
    throw;
  }
  const bool brief = exchanged.value_or(kBriefBytes + 1) <= kBriefBytes;
  if (brief && *exchanged <= kInstantBytes) launch.recorder().startAtOnce();
  // The launch runs in the first stream. Fences hold the other streams until it is over.
  std::set<device::Stream*> others;
  for (const CommOperation& operation : operations)
    if (operation.stream != first && others.insert(operation.stream).second) launch.fence(*operation.stream);
  launches_.issue(launch, *first, bytesOf(operations) >= kLastingBytes);
  // Begin at once, so that the peers need not wait until this rank waits for its stream.
  if (brief) device::Scheduler::instance().begin(*first);
}

// Issues a launch that goes on with what the inline executor has begun.
void Issuer::issueBegun(std::span<const CommOperation> operations) {
  LaunchTask& launch = launches_.unchecked();
  schedule(operations, scheduling(), launch);
  inline_->handOver(launch);
  launches_.issue(launch, *operations.front().stream);
}

Scheduling Issuer::scheduling() {
  return {rank_,
          ranks_,
          wiring_.stepBytes(),
          wiring_.channels(),
          choices_,
          transfers_,
          mailboxes_ ? &*mailboxes_ : nullptr,
          checked_};
}

// Notes the operations in the flight recorder, and for the comparison in checked mode.
void Issuer::record(std::span<const CommOperation> operations, LaunchTask& launch) {
  const int collectives = collectivesIn(operations);
  for (const CommOperation& operation : operations) {
    std::uint64_t path = 0;
    if (isBusyCollective(operation))
      path = mailboxes_ ? kDirectPath : packPath(choices_.of(operation, collectives));
    launch.recorder().add(operation, path);
    if (checked_ && !isPointToPoint(operation.function)) launch.compare(signatureOf(operation));
  }
}

float Issuer::predict(std::span<const CommOperation> operations) const {
  float time = 0;
  for (const CommOperation& operation : operations)
    if (isPlanned(operation.function)) time += choices_.predict(operation);
  return time;
}

}  // namespace xylem::comm
