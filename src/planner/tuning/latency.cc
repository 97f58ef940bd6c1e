#include "planner/tuning/latency.h"

#include <algorithm>

#include "planner/tuning/algorithm_graph.h"
#include "planner/tuning/log2.h"
#include "planner/tuning/measured.h"
#include "planner/tuning/steps.h"

namespace xylem {
namespace {

using measured::Hardware;

// Microseconds per further rank of a node that CollNetDirect serves, and PAT's constants.
constexpr double kCollnetPerRank = 0.4;
constexpr double kPatBase = 8;
constexpr double kPatNetDivisor = 3.5;
constexpr double kPatPerRank = 2.8;

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
        return static_cast<float>(kPatBase + levels * (inter_ / kPatNetDivisor) + input_.ranks * kPatPerRank);
    }
    return 0;
  }

 private:
  Hardware insideHardware() const {
    return graph_.typeIntra == PathType::kNvl ? Hardware::kNvlink : Hardware::kPci;
  }

  float step(Hardware hardware, Algorithm algorithm) const {
    // On POWER, Tree over PCI is as slow as Ring.
    const bool slowTree = input_.arch == CpuArch::kPower && hardware == Hardware::kPci &&
                          algorithm == Algorithm::kTree && protocol_ == Protocol::kSimple;
    return measured::kStepLatency[hardware][slowTree ? Algorithm::kRing : algorithm][protocol_];
  }

  // With one rank per node nothing hides the network.
  float interLatency() const {
    const bool alone = input_.ranks == input_.nodes;
    float latency = step(Hardware::kNet, alone ? Algorithm::kTree : algorithm_) + graph_.latencyInter;
    if (protocol_ == Protocol::kSimple) latency += graph_.latencyInter;
    return latency;
  }

  float netOverhead() const {
    if (options_.netOverhead) return *options_.netOverhead;
    if (input_.arch == CpuArch::kX86 && input_.vendor == CpuVendor::kIntel)
      return measured::kNetOverheadIntel;
    if (input_.arch == CpuArch::kX86 && input_.vendor == CpuVendor::kAmd) return measured::kNetOverheadAmd;
    return measured::kNetOverheadOther;
  }

  // Broadcast and Reduce: data streams through the ring.
  float pipelinedRing() const {
    const Hardware hardware = input_.nodes == 1 ? insideHardware() : Hardware::kNet;
    if (graph_.sameChannels) return base_ + step(hardware, Algorithm::kRing);
    // A chunk must be there before it goes on.
    const Algorithm slowest = protocol_ == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing;
    return base_ +
           static_cast<float>(ringSteps(Collective::kBroadcast, input_.ranks)) * step(hardware, slowest);
  }

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
  float intra_;  // of a step inside a node
  float inter_;  // of a step between nodes
};

}  // namespace

float algorithmLatency(const TuningInput& input, const TuningOptions& options, Collective collective,
                       Algorithm algorithm, Protocol protocol) {
  return LatencyModel(input, options, algorithm, protocol).of(collective);
}

}  // namespace xylem
