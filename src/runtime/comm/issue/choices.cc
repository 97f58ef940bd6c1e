#include "runtime/comm/issue/choices.h"

#include <algorithm>
#include <tuple>

#include "planner/tuning/block_size.h"
#include "planner/tuning/chunk_size.h"
#include "planner/tuning/tuning_input.h"
#include "runtime/comm/join/links.h"
#include "runtime/comm/join/peer_info.h"
#include "runtime/plugins/abi.h"
#include "runtime/plugins/tuner.h"
#include "runtime/transport/collnet/coll_connection.h"

namespace xylem::comm {
namespace {

// Returns whether an algorithm is allowed, and none but CollNet's.
bool onlyCollnet(const ByAlgorithm<bool>& allowed) {
  bool any = false, others = false;
  for (const Algorithm algorithm : kAllAlgorithms) {
    any = any || allowed[algorithm];
    others = others || (allowed[algorithm] && !isCollnet(algorithm));
  }
  return any && !others;
}

}  // namespace

bool CollNetUse::works(const CommOperation& operation) const {
  if (gathersOrScatters(operation.function) && !gathersThroughDirect && !gathersThroughNvls) return false;
  if (operation.function == Function::kAllGather) return (reduced & kGatherBit) != 0;
  if (operation.function == Function::kReduceScatter && (reduced & kScatterBit) == 0) return false;
  return !operation.reduction.scaled && reduces(reduced, operation.type, operation.reduction.op);
}

CollNetUse collNetUse(const plan::Plan& plan, int view, const Settings& settings, std::uint64_t reduced,
                      bool onGpus) {
  CollNetUse use;
  use.reduced = reduced;
  use.chainOnly = onGpus;
  const connect::Connections& c = plan.connections;
  if (!onGpus && reduced != 0 && c.nodes.count() <= transport::kMostGatheringMembers) {
    use.gathersThroughDirect = allAreHeads(c, Algorithm::kCollnetDirect);
    use.gathersThroughNvls = allAreHeads(c, Algorithm::kNvls);
  }
  tuning::TuningOptions options = tuning::TuningOptions::from(settings);
  bool any = false;
  for (const Collective collective : kAllCollectives) {
    if (!onlyCollnet(options.algorithms[collective])) continue;
    options.algorithms[collective][Algorithm::kRing] = any = true;
  }
  if (any)
    use.otherwise = std::make_shared<const tuning::TuningModel>(
        tuning::computeTuning(tuning::tuningInput(plan.connections, view), options));
  return use;
}

namespace {

constexpr std::size_t kEntries = 256;  // a power of two
constexpr int kMaxAggregatedInKey = 255;

std::uint32_t kindOf(const CommOperation& operation, int aggregated) {
  return static_cast<std::uint32_t>(operation.function) | static_cast<std::uint32_t>(operation.type) << 4 |
         static_cast<std::uint32_t>(operation.reduction.op) << 8 |
         (operation.reduction.scaled ? 1u : 0u) << 12 | static_cast<std::uint32_t>(aggregated) << 16;
}

std::size_t slotOf(std::uint64_t bytes, std::uint32_t kind) {
  const std::uint64_t mixed = (bytes * 0x9e3779b97f4a7c15ull) ^ (kind * 0xc2b2ae3d27d4eb4full);
  return static_cast<std::size_t>(mixed >> 56) % kEntries;
}

// From candidates that are all excluded, the one whose reason helps the user most: one that runs other
// operations.
const tuning::Candidate& mostTelling(const std::vector<tuning::Candidate>& excluded) {
  const auto byOperation =
      std::find_if(excluded.begin(), excluded.end(), [](const tuning::Candidate& candidate) {
        return candidate.excluded >= tuning::Exclusion::kManyLocalRanks &&
               candidate.excluded != tuning::Exclusion::kTooSlow;
      });
  return byOperation == excluded.end() ? excluded.front() : *byOperation;
}

// The CollNet candidate whose reason the log shows: one that NCCL_ALGO allows.
const tuning::Candidate& ofCollnet(const std::vector<tuning::Candidate>& excluded,
                                   const ByAlgorithm<bool>& allowed) {
  const auto listed = std::find_if(excluded.begin(), excluded.end(), [&](const tuning::Candidate& candidate) {
    return isCollnet(candidate.algorithm) && candidate.protocol == Protocol::kSimple &&
           allowed[candidate.algorithm];
  });
  return listed == excluded.end() ? excluded.front() : *listed;
}

}  // namespace

Choices::Choices(const tuning::TuningModel& model, int channels, std::shared_ptr<const plugins::Tuner> tuner,
                 CollNetUse collnet)
    : model_(model),
      channels_(channels),
      tuner_(std::move(tuner)),
      collnet_(std::move(collnet)),
      entries_(kEntries) {}

int Choices::retune(tuning::Choice& choice) const {
  plugins::TunerAnswer answer;
  for (const tuning::Candidate& candidate : choice.ranking)
    answer.times[candidate.algorithm][candidate.protocol] =
        candidate.excluded == tuning::Exclusion::kNone ? candidate.time : plugins::abi::kCannotRun;
  tuner_->ask({choice.operation.collective, choice.operation.bytes, choice.operation.aggregated}, answer);
  const auto end = choice.ranking.begin() + choice.usable;
  const auto left = [&](const tuning::Candidate& c) { return answer.times[c.algorithm][c.protocol] >= 0; };
  // A plugin that leaves no candidate is ignored.
  if (std::none_of(choice.ranking.begin(), end, left)) return 0;
  // Candidates that the plugin excludes go behind the others.
  const auto allowed = std::stable_partition(choice.ranking.begin(), end, left);
  for (auto candidate = choice.ranking.begin(); candidate != allowed; ++candidate)
    candidate->time = answer.times[candidate->algorithm][candidate->protocol];
  choice.usable = static_cast<int>(allowed - choice.ranking.begin());
  std::sort(choice.ranking.begin(), allowed, [](const tuning::Candidate& a, const tuning::Candidate& b) {
    return std::tie(a.time, a.algorithm, a.protocol) < std::tie(b.time, b.algorithm, b.protocol);
  });
  if (const tuning::Candidate* best = choice.best())
    choice.channels =
        tuning::blockSize(model_, choice.operation.bytes, best->algorithm, best->protocol).channels;
  return answer.channels;
}

tuning::Operation Choices::describe(const CommOperation& operation, int aggregated) const {
  tuning::Operation wanted;
  wanted.collective = operation.function;
  wanted.bytes = operation.count * elementBytes(operation.type);
  if (gathersOrScatters(operation.function)) wanted.bytes *= static_cast<std::uint64_t>(model_.input.ranks);
  wanted.type = operation.type;
  wanted.reduction = operation.reduction.op;
  wanted.scaled = operation.reduction.scaled;
  wanted.collnetWorks = collnet_.works(operation);
  wanted.collnetDirect = collnet_.direct(operation);
  wanted.aggregated = aggregated;
  return wanted;
}

std::string Choices::whyNot(const tuning::Candidate& candidate, const tuning::Operation& operation) const {
  const bool needsNetwork = candidate.excluded == tuning::Exclusion::kCollnetOperands ||
                            candidate.excluded == tuning::Exclusion::kNoCollnet;
  if (needsNetwork && !collnet_.off.empty()) return "CollNet is off: " + collnet_.off;
  return tuning::explain(candidate, operation, model_);
}

void Choices::fallBack(tuning::Choice& choice) const {
  if (!collnet_.otherwise) return;
  const tuning::Operation& wanted = choice.operation;
  tuning::Choice other = xylem::tuning::choose(*collnet_.otherwise, wanted);
  if (other.best() == nullptr) return;
  if (collnet_.log)
    collnet_.log->info(
        Subsystem::kTuning, "{} of {} bytes: {}; it goes through {} in spite of NCCL_ALGO={}",
        name(wanted.collective), wanted.bytes,
        whyNot(ofCollnet(choice.ranking, model_.options.algorithms[wanted.collective]), wanted),
        name(other.best()->algorithm), model_.options.algorithmList);
  choice = std::move(other);
}

void Choices::throwNoChoice(const tuning::Choice& choice) const {
  const tuning::Operation& wanted = choice.operation;
  std::string why = "none is known";
  if (!choice.ranking.empty()) why = whyNot(mostTelling(choice.ranking), wanted);
  throw Error(ResultCode::kInvalidUsage,
              "no algorithm and protocol can run {} of {} bytes: {}; do NCCL_ALGO and NCCL_PROTO allow any?",
              name(wanted.collective), wanted.bytes, why);
}

ChosenAlgorithm Choices::choose(const CommOperation& operation, int aggregated) const {
  const tuning::Operation wanted = describe(operation, aggregated);
  tuning::Choice choice = xylem::tuning::choose(model_, wanted);
  if (choice.best() == nullptr) fallBack(choice);
  const int tunedChannels = tuner_ && choice.best() != nullptr ? retune(choice) : 0;
  const tuning::Candidate* best = choice.best();
  if (best == nullptr) throwNoChoice(choice);
  ChosenAlgorithm chosen{best->algorithm, best->protocol,
                         std::clamp(tunedChannels > 0 ? tunedChannels : choice.channels, 1, channels_)};
  chosen.chunkBytes = tuning::chunkBytes(model_, {.collective = wanted.collective,
                                                  .algorithm = chosen.algorithm,
                                                  .protocol = chosen.protocol,
                                                  .bytes = wanted.bytes,
                                                  .channels = chosen.channels});
  chosen.time = best->time;
  return chosen;
}

const ChosenAlgorithm& Choices::of(const CommOperation& operation, int aggregated) {
  aggregated = std::min(aggregated, kMaxAggregatedInKey);
  const std::uint64_t bytes = operation.count * elementBytes(operation.type);
  const std::uint32_t kind = kindOf(operation, aggregated);
  Entry& entry = entries_[slotOf(bytes, kind)];
  if (entry.bytes != bytes || entry.kind != kind) {
    entry.chosen = choose(operation, aggregated);
    entry.bytes = bytes;
    entry.kind = kind;
  }
  return entry.chosen;
}

float Choices::predict(const CommOperation& operation) const {
  tuning::Choice choice = xylem::tuning::choose(model_, describe(operation, 1));
  if (choice.best() == nullptr) fallBack(choice);
  return choice.best() == nullptr ? 0 : choice.best()->time;
}

}  // namespace xylem::comm
