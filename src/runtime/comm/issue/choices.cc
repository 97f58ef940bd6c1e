#include "runtime/comm/issue/choices.h"

#include <algorithm>
#include <tuple>

#include "runtime/plugins/abi.h"
#include "runtime/plugins/tuner.h"
#include "planner/tuning/block_size.h"
#include "planner/tuning/chunk_size.h"

namespace xylem {
namespace {

constexpr std::size_t kEntries = 256;  // a power of two
constexpr int kMostAggregatedInKey = 255;

std::uint32_t kindOf(const CommOperation& operation, int aggregated) {
  return static_cast<std::uint32_t>(operation.function) | static_cast<std::uint32_t>(operation.type) << 4 |
         static_cast<std::uint32_t>(operation.reduction.op) << 8 |
         (operation.reduction.scaled ? 1u : 0u) << 12 | static_cast<std::uint32_t>(aggregated) << 16;
}

std::size_t slotOf(std::uint64_t bytes, std::uint32_t kind) {
  const std::uint64_t mixed = (bytes * 0x9e3779b97f4a7c15ull) ^ (kind * 0xc2b2ae3d27d4eb4full);
  return static_cast<std::size_t>(mixed >> 56) % kEntries;
}

// Of what cannot run an operation, the candidate whose reason helps most: one that runs others like it.
const Candidate& mostTelling(const std::vector<Candidate>& excluded) {
  const auto byOperation = std::find_if(excluded.begin(), excluded.end(), [](const Candidate& candidate) {
    return candidate.excluded >= Exclusion::kManyLocalRanks && candidate.excluded != Exclusion::kTooSlow;
  });
  return byOperation == excluded.end() ? excluded.front() : *byOperation;
}

// The same, where NCCL_ALGO leaves nothing but CollNet.
const Candidate& ofCollnet(const std::vector<Candidate>& excluded) {
  const auto listed = std::find_if(excluded.begin(), excluded.end(), [](const Candidate& candidate) {
    return isCollnet(candidate.algorithm) && candidate.protocol == Protocol::kSimple &&
           candidate.excluded != Exclusion::kAlgorithmList;
  });
  return listed == excluded.end() ? excluded.front() : *listed;
}

}  // namespace

Choices::Choices(const TuningModel& model, int channels, std::shared_ptr<const Tuner> tuner,
                 CollNetUse collnet)
    : model_(model),
      channels_(channels),
      tuner_(std::move(tuner)),
      collnet_(std::move(collnet)),
      entries_(kEntries) {}

int Choices::retune(Choice& choice) const {
  TunerOpinion opinion;
  for (const Candidate& candidate : choice.ranking)
    opinion.times[candidate.algorithm][candidate.protocol] =
        candidate.excluded == Exclusion::kNone ? candidate.time : abi::kCannotRun;
  tuner_->ask({choice.operation.collective, choice.operation.bytes, choice.operation.aggregated}, opinion);
  const auto end = choice.ranking.begin() + choice.usable;
  const auto left = [&](const Candidate& c) { return opinion.times[c.algorithm][c.protocol] >= 0; };
  // A plugin that leaves nothing has no say.
  if (std::none_of(choice.ranking.begin(), end, left)) return 0;
  // What the plugin takes out goes behind the rest.
  const auto allowed = std::stable_partition(choice.ranking.begin(), end, left);
  for (auto candidate = choice.ranking.begin(); candidate != allowed; ++candidate)
    candidate->time = opinion.times[candidate->algorithm][candidate->protocol];
  choice.usable = static_cast<int>(allowed - choice.ranking.begin());
  std::sort(choice.ranking.begin(), allowed, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.time, a.algorithm, a.protocol) < std::tie(b.time, b.algorithm, b.protocol);
  });
  if (const Candidate* best = choice.best())
    choice.channels = blockSize(model_, choice.operation.bytes, best->algorithm, best->protocol).channels;
  return opinion.channels;
}

Operation Choices::describe(const CommOperation& operation, int aggregated) const {
  const Collective collective = collectiveOf(operation.function);
  Operation wanted;
  wanted.collective = collective;
  wanted.bytes = operation.count * elementBytes(operation.type);
  if (gathersOrScatters(collective)) wanted.bytes *= static_cast<std::uint64_t>(model_.input.ranks);
  wanted.type = operation.type;
  wanted.reduction = operation.reduction.op;
  wanted.scaled = operation.reduction.scaled;
  wanted.collnetWorks = collnet_.works(operation);
  wanted.collnetDirect = false;
  wanted.aggregated = aggregated;
  return wanted;
}

void Choices::fallBack(Choice& choice) const {
  if (!collnet_.otherwise) return;
  const Operation& wanted = choice.operation;
  Choice other = xylem::choose(*collnet_.otherwise, wanted);
  if (other.best() == nullptr) return;
  if (collnet_.log)
    collnet_.log->info(Subsystem::kTuning, "{} of {} bytes: {}; it goes through {} in spite of NCCL_ALGO={}",
                       name(wanted.collective), wanted.bytes,
                       explain(ofCollnet(choice.ranking), wanted, model_), name(other.best()->algorithm),
                       model_.options.algorithmList);
  choice = std::move(other);
}

ChosenWay Choices::choose(const CommOperation& operation, int aggregated) const {
  const Operation wanted = describe(operation, aggregated);
  Choice choice = xylem::choose(model_, wanted);
  if (choice.best() == nullptr) fallBack(choice);
  const int tunedChannels = tuner_ && choice.best() != nullptr ? retune(choice) : 0;
  const Candidate* best = choice.best();
  if (best == nullptr)
    throw Error(
        ResultCode::kInvalidUsage,
        "no algorithm and protocol can run {} of {} bytes: {}; do NCCL_ALGO and NCCL_PROTO allow any?",
        name(operation.function), wanted.bytes,
        choice.ranking.empty() ? "none is known" : explain(mostTelling(choice.ranking), wanted, model_));
  ChosenWay way{best->algorithm, best->protocol,
                std::clamp(tunedChannels > 0 ? tunedChannels : choice.channels, 1, channels_)};
  way.chunkBytes = chunkBytes(model_, {.collective = wanted.collective,
                                       .algorithm = way.algorithm,
                                       .protocol = way.protocol,
                                       .bytes = wanted.bytes,
                                       .channels = way.channels});
  return way;
}

const ChosenWay& Choices::of(const CommOperation& operation, int aggregated) {
  aggregated = std::min(aggregated, kMostAggregatedInKey);
  const std::uint64_t bytes = operation.count * elementBytes(operation.type);
  const std::uint32_t kind = kindOf(operation, aggregated);
  Entry& entry = entries_[slotOf(bytes, kind)];
  if (entry.bytes != bytes || entry.kind != kind) {
    entry.way = choose(operation, aggregated);
    entry.bytes = bytes;
    entry.kind = kind;
  }
  return entry.way;
}

float Choices::predict(const CommOperation& operation) const {
  Choice choice = xylem::choose(model_, describe(operation, 1));
  if (choice.best() == nullptr) fallBack(choice);
  return choice.best() == nullptr ? 0 : choice.best()->time;
}

}  // namespace xylem
