#include "planner/tuning/tuning_input.h"

#include <algorithm>

#include "planner/connect/connections.h"

namespace xylem {
namespace {

// Facts that ranks do not exchange under NCCL's rules: each view uses those of its own host.
struct LocalFacts {
  ByGraphKind<Pattern> pattern{};
  ByGraphKind<float> latencyInter{};
  bool hasNvs = false;
};

LocalFacts localFacts(const RankView& view) {
  LocalFacts own;
  for (GraphKind kind : kAllGraphKinds) {
    own.pattern[kind] = (*view.graphs)[kind].pattern;
    own.latencyInter[kind] = (*view.graphs)[kind].latencyInter;
  }
  own.hasNvs = view.system->hasNvs();
  return own;
}

// The facts that hold for all views: the worst of each. Every kind of host can run a tree through one GPU.
LocalFacts agreedOn(const Job& job) {
  LocalFacts all = localFacts(job.views.front());
  for (const RankView& view : job.views) {
    const LocalFacts other = localFacts(view);
    for (GraphKind kind : kAllGraphKinds) {
      if (other.pattern[kind] == Pattern::kTree) all.pattern[kind] = Pattern::kTree;
      all.latencyInter[kind] = std::max(all.latencyInter[kind], other.latencyInter[kind]);
    }
    all.hasNvs = all.hasNvs && other.hasNvs;
  }
  return all;
}

}  // namespace

TuningInput tuningInput(const Connections& c, int view) {
  const RankView& mine = c.job.views[static_cast<std::size_t>(view)];
  const ViewDecisions& decisions = c.views[static_cast<std::size_t>(view)];
  const LocalFacts own = c.options.rules == Rules::kXylem ? agreedOn(c.job) : localFacts(mine);
  TuningInput input;
  input.ranks = c.job.ranks();
  input.nodes = c.nodes.count();
  input.maxLocalRanks = c.nodes.maxLocalRanks;
  input.lowestSm = c.lowestSm;
  input.highestSm = c.highestSm;
  if (const Cpu* cpu = mine.system->firstCpu()) {
    input.arch = c.mixedArch ? CpuArch::kMixed : cpu->arch;
    input.vendor = c.mixedVendor ? CpuVendor::kMixed : cpu->vendor;
  }
  for (GraphKind kind : kAllGraphKinds) {
    const MergedGraph& merged = c.merged[kind];
    input.graphs[kind] = {own.pattern[kind], merged.nChannels, merged.sameChannels, merged.bwIntra,
                          merged.bwInter,    merged.typeIntra, merged.typeInter,    own.latencyInter[kind]};
  }
  input.collnet = c.collnet;
  input.collnetHeads = decisions.collnetHeads;
  input.nvls = c.nvlsHeads > 0;
  input.nvlsHeads = c.nvlsHeads;
  input.hasNvs = own.hasNvs;
  input.hostDevices = std::all_of(c.job.views.begin(), c.job.views.end(), [](const RankView& v) {
    const auto gpus = v.system->nodes(NodeType::kGpu);
    return std::all_of(gpus.begin(), gpus.end(), [&](NodeId gpu) { return v.system->gpu(gpu).hostDevice; });
  });
  input.nChannels = decisions.channels.total();
  input.nvlsChannels = decisions.nvlsChannels;
  return input;
}

}  // namespace xylem
