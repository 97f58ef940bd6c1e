#include "cli/tune_input.h"

namespace xylem::cli {
namespace {

TuningGraph tuningGraph(const MergedGraph& merged, const ChannelGraph& own) {
  return {.pattern = own.pattern,
          .nChannels = merged.nChannels,
          .sameChannels = merged.sameChannels,
          .bwIntra = merged.bwIntra,
          .bwInter = merged.bwInter,
          .typeIntra = merged.typeIntra,
          .typeInter = merged.typeInter,
          .latencyInter = own.latencyInter};
}

}  // namespace

TuningInput tuningInput(const Plan& plan) {
  const Connections& connections = plan.connections;
  const HostPlan& host = plan.hostOf(0);
  TuningInput input;
  input.ranks = plan.job.ranks();
  input.nodes = connections.nodes.count();
  input.maxLocalRanks = connections.nodes.maxLocalRanks;
  input.lowestSm = plan.lowestSm;
  input.highestSm = plan.highestSm;
  if (const Cpu* cpu = host.system().firstCpu()) {
    input.arch = cpu->arch;
    input.vendor = cpu->vendor;
  }
  input.graphs[GraphKind::kRing] = tuningGraph(connections.ring, host.ring);
  input.graphs[GraphKind::kTree] = tuningGraph(connections.tree, host.tree);
  input.hasNvs = host.system().hasNvs();
  input.nChannels = connections.nChannels;
  return input;
}

}  // namespace xylem::cli
