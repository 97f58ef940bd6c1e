#include "planner/tuning/bandwidth.h"

#include <algorithm>

#include "planner/tuning/algorithm_graph.h"
#include "planner/tuning/measured.h"
#include "planner/tuning/steps.h"

namespace xylem {
namespace {

using measured::Limits;

// What of a link's bandwidth is payload, or is reached in practice.
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
// Bytes of the operation per byte that moves.
constexpr double kNvlsRatio = 5.0 / 6.0;
constexpr double kAllReduceRatio = 0.5;

float single(double value) { return static_cast<float>(value); }

// Per channel, between hosts or inside, whichever binds.
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

double mostLl(const TuningInput& input) {
  if (input.nodes == 1) return limit(measured::kMostLl, input);
  const bool amd = input.vendor == CpuVendor::kAmd || input.vendor == CpuVendor::kMixed;
  const auto row = amd ? measured::Architecture::kAmpere : measured::Architecture::kVolta;
  return measured::kMostLl[row][input.nodesColumn()];
}

float ringBandwidth(const TuningInput& input, Collective collective, Protocol protocol, float all) {
  const int channels = input.graph(GraphKind::kRing).nChannels;
  if (protocol == Protocol::kLl) all = single(std::min(mostLl(input), all * kRingLlShare));
  if (protocol == Protocol::kLl128)
    all = single(std::min(all * kRingLl128Share, channels * limit(measured::kMostRingLl128, input)));
  const float ratio = single(1.0 * input.ranks / ringSteps(collective, input.ranks));
  return all * ratio;
}

// The traffic of AllReduce before it is turned into bytes of the operation.
float treeTraffic(const TuningInput& input, Protocol protocol, float all) {
  const TuningGraph& graph = input.graph(GraphKind::kTree);
  all = single(std::min(all * kTreeShare, graph.nChannels * limit(measured::kMostTree, input)));
  if (protocol == Protocol::kLl) all = single(std::min(all / kTreeLlDivisor, mostLl(input)));
  if (protocol == Protocol::kLl128)
    all = single(std::min(all * (input.nodes == 1 ? kTreeLl128OneNode : kTreeLl128Share),
                          graph.nChannels * limit(measured::kMostTreeLl128, input)));
  return graph.pattern == Pattern::kTree ? single(all * kOneGpuTreeShare) : all;
}

// With one GPU per NIC; the measured share lies between those of one and of eight ranks per node.
float collnetDirectGather(const TuningInput& input, float channel) {
  const float ranks = input.ranksPerNode();
  const float weight = (ranks - 1) / (8 - 1);
  return single(ranks * channel * (weight * kCollnetEightShare + (1 - weight) * kCollnetAloneShare));
}

// GPUs that share a NIC share its bandwidth.
float collnetDirectTraffic(const TuningInput& input, float all) {
  const int channels = input.graph(GraphKind::kCollnetDirect).nChannels;
  if (channels == 0) return 0;
  float sharing = single(input.ranksPerNode() / (1.0 * channels));
  sharing -= (sharing - 1) / 2;
  all /= sharing;
  return input.lowestSm >= measured::kHopperSm ? single(all * kHopperCollnetShare) : all;
}

}  // namespace

float algorithmBandwidth(const TuningInput& input, Collective collective, Algorithm algorithm,
                         Protocol protocol) {
  const float channel = channelBandwidth(input, algorithm);
  float all = static_cast<float>(input.graph(graphOf(algorithm)).nChannels) * channel;
  const bool allReduce = collective == Collective::kAllReduce;
  switch (algorithm) {
    case Algorithm::kRing:
      return ringBandwidth(input, collective, protocol, all);
    case Algorithm::kTree:
      all = treeTraffic(input, protocol, all);
      break;
    case Algorithm::kPat:
      all = single(all * kPatShare);
      break;
    case Algorithm::kCollnetDirect:
      all = allReduce ? collnetDirectTraffic(input, all) : collnetDirectGather(input, channel);
      break;
    case Algorithm::kCollnetChain:
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      break;
  }
  if (!allReduce) return all;
  return all * single(isNvls(algorithm) ? kNvlsRatio : kAllReduceRatio);
}

}  // namespace xylem
