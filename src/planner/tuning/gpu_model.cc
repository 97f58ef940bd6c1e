#include "planner/tuning/gpu_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "planner/tuning/measured.h"
#include "planner/tuning/steps.h"

namespace xylem::tuning {
namespace {

using measured::Hardware;
using measured::Limits;

// Latencies.

constexpr double kCollnetPerRank = 0.4;  // microseconds per further rank of a node, CollNetDirect
constexpr double kPatNetDivisor = 3.5;   // a network step costs PAT the usual latency divided by this
constexpr double kPatPerRank = 2.8;      // microseconds

// An operation costs its start and the steps on the longest route of its data: those inside nodes over NVLink
// or PCI, those between nodes over the network. A ring passes all ranks one by one; a tree is a chain inside
// each node and a binary tree over the nodes, which the data climbs and descends.
class LatencyModel {
 public:
  LatencyModel(const TuningInput& input, const TuningOptions& options, Algorithm algorithm, Protocol protocol)
      : input_(input),
        options_(options),
        graph_(input.graph(graphOf(algorithm))),
        algorithm_(algorithm),
        protocol_(protocol),
        base_(measured::kBaseLatency[algorithm][protocol]),
        intra_(step(insideHardware(), algorithm)),
        inter_(interLatency()) {}

  float of(Collective collective) const {
    const int furtherRanks = input_.ranks / input_.nodes - 1;
    const int levels = log2Floor(static_cast<std::uint64_t>(input_.nodes));
    const auto further = static_cast<float>(furtherRanks);
    switch (algorithm_) {
      case Algorithm::kRing:
        return gathersOrScatters(collective) || collective == Collective::kAllReduce ? ringOfSteps(collective)
                                                                                     : pipelinedRing();
      case Algorithm::kTree:
        return base_ + 2 * (further * intra_ + static_cast<float>(levels) * inter_);
      case Algorithm::kCollnetDirect:
        return static_cast<float>(base_ + (2 * (static_cast<float>(std::min(1, furtherRanks)) * intra_ +
                                                furtherRanks * kCollnetPerRank) +
                                           inter_));
      case Algorithm::kCollnetChain:
        return base_ + (2 * further * intra_ + inter_);
      case Algorithm::kNvls:
        return input_.nodes > 1 ? intra_ + inter_ : intra_;
      case Algorithm::kNvlsTree:
        return base_ + (intra_ + static_cast<float>(2 * levels) * inter_);
      case Algorithm::kPat:
        return static_cast<float>(input_.rules->tuning.patBase +
                                  (levels * (inter_ / kPatNetDivisor) + input_.ranks * kPatPerRank));
    }
    return 0;
  }

 private:
  Hardware insideHardware() const {
    return graph_.typeIntra == paths::PathType::kNvl ? Hardware::kNvlink : Hardware::kPci;
  }

  float step(Hardware hardware, Algorithm algorithm) const {
    const rules::TuningTables& tables = input_.rules->tuning;
    if (algorithm == Algorithm::kPat) return hardware == Hardware::kNet ? tables.patNet : tables.patIntra;
    if (algorithm == Algorithm::kNvlsTree && hardware == Hardware::kNet)
      return protocol_ == Protocol::kSimple ? tables.nvlsTreeNet : 0;
    // On POWER, Tree over PCI is as slow as Ring.
    const bool slowTree = input_.arch == topology::CpuArch::kPower && hardware == Hardware::kPci &&
                          algorithm == Algorithm::kTree && protocol_ == Protocol::kSimple;
    return measured::kStepLatency[hardware][slowTree ? Algorithm::kRing : algorithm][protocol_];
  }

  // With one rank per node no step inside a node hides the network: all algorithms then take Tree's latency.
  float interLatency() const {
    const bool alone = input_.ranks == input_.nodes;
    float latency = step(Hardware::kNet, alone ? Algorithm::kTree : algorithm_) + graph_.latencyInter;
    if (protocol_ == Protocol::kSimple) latency += graph_.latencyInter;
    return latency;
  }

  float netOverhead() const {
    if (options_.netOverhead) return *options_.netOverhead;
    if (input_.arch == topology::CpuArch::kX86 && input_.vendor == topology::CpuVendor::kIntel)
      return measured::kNetOverheadIntel;
    if (input_.arch == topology::CpuArch::kX86 && input_.vendor == topology::CpuVendor::kAmd)
      return measured::kNetOverheadAmd;
    return measured::kNetOverheadOther;
  }

  // Broadcast and Reduce stream their data through the ring. With equal channels the steps overlap: one
  // counts.
  float pipelinedRing() const {
    const Hardware hardware = input_.nodes == 1 ? insideHardware() : Hardware::kNet;
    if (graph_.sameChannels) return base_ + step(hardware, Algorithm::kRing);
    // Otherwise a rank waits for a whole chunk before it sends it on.
    const Algorithm slowest = protocol_ == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing;
    return base_ +
           static_cast<float>(ringSteps(Collective::kBroadcast, input_.ranks)) * step(hardware, slowest);
  }

  // Across nodes, a step inside a node takes at least what the CPU adds to a network step.
  float ringOfSteps(Collective collective) const {
    const int all = ringSteps(collective, input_.ranks);
    if (input_.nodes == 1) return base_ + static_cast<float>(all) * intra_;
    float overhead = netOverhead();
    if (protocol_ == Protocol::kSimple) overhead *= measured::kNetOverheadSimpleFactor;
    const int between = ringStepsBetweenNodes(collective, input_.nodes);
    return base_ + (static_cast<float>(all - between) * std::max(intra_, overhead) +
                    static_cast<float>(between) * inter_);
  }

  const TuningInput& input_;
  const TuningOptions& options_;
  const TuningGraph& graph_;
  Algorithm algorithm_;
  Protocol protocol_;
  float base_;
  float intra_;  // microseconds of a step inside a node
  float inter_;  // microseconds of a step between nodes
};

// Bandwidths.

// Shares of the bandwidth of links that are payload, or that are reached in practice.
constexpr double kRingLlShare = 0.5;
constexpr double kRingLl128Share = 0.92;
constexpr double kTreeShare = 0.92;
constexpr double kTreeLlDivisor = 3.8;
constexpr double kTreeLl128OneNode = 7.0 / 9.0;
constexpr double kTreeLl128Share = 120.0 / 128.0;
constexpr double kOneGpuTreeShare = 0.85;  // Pattern::kTree: all traffic through one GPU
constexpr double kPatShare = 0.75;
constexpr double kHopperCollnetShare = 0.85;
// CollNetDirect's AllGather and ReduceScatter, with one and with eight ranks per node.
constexpr double kCollnetAloneShare = 0.95;
constexpr double kCollnetEightShare = 0.85;
// Bytes of the operation per byte that a channel moves.
constexpr double kNvlsRatio = 5.0 / 6.0;
constexpr double kAllReduceRatio = 0.5;

float single(double value) { return static_cast<float>(value); }

// A bandwidth in the making. Every step rounds to single precision, as NCCL does; `terms` gets one line per step.
class Reckoning {
 public:
  Reckoning(int channels, float each, std::vector<BandwidthTerm>* terms)
      : value_(static_cast<float>(channels) * each), terms_(terms) {
    note([&] { return fmt::format("{} channels of {:.1f} GB/s", channels, each); });
  }

  float value() const { return value_; }
  void times(double factor, const char* why) {
    value_ = single(value_ * factor);
    if (factor != 1) note([&] { return fmt::format("times {:.4g}: {}", factor, why); });
  }
  void over(double divisor, const char* why) {
    value_ = single(value_ / divisor);
    note([&] { return fmt::format("over {:.4g}: {}", divisor, why); });
  }
  void atMost(double limit, const char* why) {
    if (!(limit < value_)) return;
    value_ = single(limit);
    note([&] { return fmt::format("at most {:.1f}: {}", limit, why); });
  }
  void become(float value, const char* why) {
    value_ = value;
    note([&] { return std::string(why); });
  }

 private:
  template <typename Text>
  void note(const Text& text) const {
    if (terms_ != nullptr) terms_->push_back({text(), value_});
  }

  float value_;
  std::vector<BandwidthTerm>* terms_;
};

// GB/s of one channel: the bandwidth inside a node on up to two nodes and for CollNet, that between nodes
// otherwise, and for NVLS the lower of both.
float channelBandwidth(const TuningInput& input, Algorithm algorithm) {
  const TuningGraph& graph = input.graph(graphOf(algorithm));
  const bool few = input.nodes <= 2;
  if (algorithm == Algorithm::kNvls) return std::min(graph.bwIntra, graph.bwInter);
  if (algorithm == Algorithm::kNvlsTree)
    return std::min(graph.bwIntra, few ? graph.bwInter : graph.bwInter / 2);
  return few || isCollnet(algorithm) ? graph.bwIntra : graph.bwInter;
}

double limit(const Limits& limits, const TuningInput& input) {
  return limits[measured::architectureOf(input.lowestSm)][input.nodesColumn()];
}
double limit(const rules::LimitRows& limits, const TuningInput& input) {
  return limits[static_cast<std::size_t>(measured::architectureOf(input.lowestSm))][input.nodesColumn()];
}

double maxLl(const TuningInput& input) {
  if (input.nodes == 1) return limit(measured::kMaxLl, input);
  const bool amd = input.vendor == topology::CpuVendor::kAmd || input.vendor == topology::CpuVendor::kMixed;
  const auto row = amd ? measured::Architecture::kAmpere : measured::Architecture::kVolta;
  return measured::kMaxLl[row][input.nodesColumn()];
}

constexpr const char* kBytesPerByte = "bytes of the operation per byte that a rank sends";

// A rank of a ring sends each byte of the operation ringSteps / ranks times. LL and LL128 reach a part of the
// bandwidth, up to a limit of the architecture.
void reckonRing(Reckoning& all, const TuningInput& input, Collective collective, Protocol protocol) {
  const int channels = input.graph(search::GraphKind::kRing).nChannels;
  if (protocol == Protocol::kLl) {
    all.times(kRingLlShare, "every second word of LL is a flag");
    all.atMost(maxLl(input), "LL, by architecture and nodes");
  }
  if (protocol == Protocol::kLl128) {
    all.times(kRingLl128Share, "what LL128 reaches");
    all.atMost(channels * limit(input.rules->tuning.maxRingLl128, input),
               "LL128 on a ring, by architecture and nodes");
  }
  all.times(single(1.0 * input.ranks / ringSteps(collective, input.ranks)), kBytesPerByte);
}

// The traffic of Tree for AllReduce; the caller turns it into bytes of the operation.
void reckonTree(Reckoning& all, const TuningInput& input, Protocol protocol) {
  const TuningGraph& graph = input.graph(search::GraphKind::kTree);
  all.times(kTreeShare, "what Tree reaches");
  all.atMost(graph.nChannels * limit(input.rules->tuning.maxTree, input), "Tree, by architecture and nodes");
  if (protocol == Protocol::kLl) {
    all.over(kTreeLlDivisor, "LL on a tree");
    all.atMost(maxLl(input), "LL, by architecture and nodes");
  }
  if (protocol == Protocol::kLl128) {
    all.times(input.nodes == 1 ? kTreeLl128OneNode : kTreeLl128Share, "what LL128 reaches");
    all.atMost(graph.nChannels * limit(input.rules->tuning.maxTreeLl128, input),
               "LL128 on a tree, by architecture and nodes");
  }
  if (graph.pattern == search::Pattern::kTree)
    all.times(kOneGpuTreeShare, "all traffic of a node passes one GPU");
}

// GB/s of the operation, by the part of NVLink's bandwidth that NVLS reaches. With one head it does not pay.
float nvlsByEfficiency(const TuningInput& input, Collective collective, Algorithm algorithm,
                       std::vector<BandwidthTerm>* terms) {
  const TuningGraph& graph = input.graph(search::GraphKind::kNvls);
  const rules::TuningTables& tables = input.rules->tuning;
  if (graph.nChannels < 2) return 0;
  const bool allReduce = collective == Collective::kAllReduce;
  const bool tree = algorithm == Algorithm::kNvlsTree;
  const auto heads = static_cast<float>(graph.nChannels);
  const auto row = static_cast<std::size_t>(measured::architectureOf(input.lowestSm));
  float intra = graph.bwIntra * tables.nvlsEfficiency[row] * (heads - 1) / heads;
  const float ranks = input.ranksPerNode();
  if (allReduce)
    intra *= 2;
  else
    intra *= (ranks - 1) / ranks;
  float inter = graph.bwInter;
  if (tree && input.nodes <= 2) inter *= 2;
  float each = std::min(intra, inter);
  if (tree) each = std::min(each, single(limit(tables.maxNvlsTree, input)));
  if (terms != nullptr) {
    terms->push_back({"a channel inside a node, less its head's own part and what NVLink loses", intra});
    if (input.nodes > 1) terms->push_back({"a channel between nodes", inter});
  }
  Reckoning all(graph.nChannels, each, terms);
  if (allReduce) all.times(single(1.0 * input.ranks / ringSteps(collective, input.ranks)), kBytesPerByte);
  return all.value();
}

// GB/s of one channel of an AllGather or ReduceScatter: without a rank's own part, and nine tenths of the NICs'.
float nvlsGatherChannel(const TuningInput& input) {
  const TuningGraph& graph = input.graph(search::GraphKind::kNvls);
  const float ranks = input.ranksPerNode();
  return std::min(graph.bwIntra * (ranks - 1) / ranks, graph.bwInter * 0.9f);
}

// AllGather and ReduceScatter, with a NIC per GPU. The share is interpolated between those of one and of
// eight ranks per node.
float collnetDirectGather(const TuningInput& input, float channel) {
  const float ranks = input.ranksPerNode();
  if (input.rules->collnetGathersByNic) {
    const TuningGraph& graph = input.graph(search::GraphKind::kCollnetDirect);
    return ranks * std::min(graph.bwIntra, graph.bwInter * 0.9f);
  }
  const float weight = (ranks - 1) / (8 - 1);
  return single(ranks * channel * (weight * kCollnetEightShare + (1 - weight) * kCollnetAloneShare));
}

// AllReduce. GPUs that share a NIC divide its bandwidth by the mean of 1 and the GPUs per channel.
float collnetDirectTraffic(const TuningInput& input, float all) {
  const int channels = input.graph(search::GraphKind::kCollnetDirect).nChannels;
  if (channels == 0) return 0;
  float sharing = single(input.ranksPerNode() / (1.0 * channels));
  sharing -= (sharing - 1) / 2;
  all /= sharing;
  return input.lowestSm >= measured::kHopperSm ? single(all * kHopperCollnetShare) : all;
}

}  // namespace

float gpuLatency(const TuningInput& input, const TuningOptions& options, Collective collective,
                 Algorithm algorithm, Protocol protocol) {
  return LatencyModel(input, options, algorithm, protocol).of(collective);
}

float gpuBandwidth(const TuningInput& input, Collective collective, Algorithm algorithm, Protocol protocol,
                   std::vector<BandwidthTerm>* terms) {
  const rules::NvlsModel nvlsModel = input.rules->nvlsModel;
  if (isNvls(algorithm) && nvlsModel == rules::NvlsModel::kEfficiency)
    return nvlsByEfficiency(input, collective, algorithm, terms);
  float channel = channelBandwidth(input, algorithm);
  if (algorithm == Algorithm::kNvls && gathersOrScatters(collective) &&
      nvlsModel == rules::NvlsModel::kOwnShare)
    channel = nvlsGatherChannel(input);
  Reckoning all(input.graph(graphOf(algorithm)).nChannels, channel, terms);
  const bool allReduce = collective == Collective::kAllReduce;
  switch (algorithm) {
    case Algorithm::kRing:
      reckonRing(all, input, collective, protocol);
      return all.value();
    case Algorithm::kTree:
      reckonTree(all, input, protocol);
      break;
    case Algorithm::kPat:
      all.times(kPatShare, "what PAT reaches");
      break;
    case Algorithm::kCollnetDirect:
      if (allReduce)
        all.become(collnetDirectTraffic(input, all.value()), "GPUs that share a NIC divide its bandwidth");
      else
        all.become(collnetDirectGather(input, channel), "what CollNetDirect reaches with a NIC per GPU");
      break;
    case Algorithm::kCollnetChain:
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      break;
  }
  if (allReduce) all.times(single(isNvls(algorithm) ? kNvlsRatio : kAllReduceRatio), kBytesPerByte);
  return all.value();
}

}  // namespace xylem::tuning
