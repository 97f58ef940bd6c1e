#include "planner/tuning/tuning_input.h"

#include <algorithm>

#include "planner/connect/connections.h"

namespace xylem::tuning {
namespace {

// Facts that ranks do not exchange under NCCL's rules: each view uses those of its own host.
struct LocalFacts {
  search::ByGraphKind<search::Pattern> pattern{};
  search::ByGraphKind<float> latencyInter{};
  bool hasNvs = false;
};

LocalFacts localFacts(const connect::RankView& view) {
  LocalFacts own;
  for (search::GraphKind kind : search::kAllGraphKinds) {
    own.pattern[kind] = (*view.graphs)[kind].pattern;
    own.latencyInter[kind] = (*view.graphs)[kind].latencyInter;
  }
  own.hasNvs = view.system->hasNvs();
  return own;
}

// The facts that hold for all views: the worst of each. Every kind of host can run a tree through one GPU.
LocalFacts agreedOn(const connect::Job& job) {
  LocalFacts all = localFacts(job.views.front());
  for (const connect::RankView& view : job.views) {
    const LocalFacts other = localFacts(view);
    for (search::GraphKind kind : search::kAllGraphKinds) {
      if (other.pattern[kind] == search::Pattern::kTree) all.pattern[kind] = search::Pattern::kTree;
      all.latencyInter[kind] = std::max(all.latencyInter[kind], other.latencyInter[kind]);
    }
    all.hasNvs = all.hasNvs && other.hasNvs;
  }
  return all;
}

// The tree pattern with the highest number of all hosts.
search::Pattern farthestTreePattern(const connect::Job& job) {
  search::Pattern farthest = search::Pattern::kBalancedTree;
  for (const connect::RankView& view : job.views)
    farthest = std::max(farthest, (*view.graphs)[search::GraphKind::kTree].pattern);
  return farthest;
}

}  // namespace

TuningInput tuningInput(const connect::Connections& c, int view) {
  const connect::RankView& mine = c.job.views[static_cast<std::size_t>(view)];
  const connect::ViewDecisions& decisions = c.views[static_cast<std::size_t>(view)];
  LocalFacts own = c.options.rules == connect::Rules::kXylem ? agreedOn(c.job) : localFacts(mine);
  if (c.rules().treePatternAgreed) own.pattern[search::GraphKind::kTree] = farthestTreePattern(c.job);
  TuningInput input;
  input.rules = mine.system->sharedRules();
  input.ranks = c.job.ranks();
  input.nodes = c.nodes.count();
  input.maxLocalRanks = c.nodes.maxLocalRanks;
  input.lowestSm = c.lowestSm;
  input.highestSm = c.highestSm;
  if (const topology::Cpu* cpu = mine.system->firstCpu()) {
    input.arch = c.mixedArch ? topology::CpuArch::kMixed : cpu->arch;
    input.vendor = c.mixedVendor ? topology::CpuVendor::kMixed : cpu->vendor;
  }
  for (search::GraphKind kind : search::kAllGraphKinds) {
    const connect::MergedGraph& merged = c.merged[kind];
    input.graphs[kind] = {own.pattern[kind], merged.nChannels, merged.sameChannels, merged.bwIntra,
                          merged.bwInter,    merged.typeIntra, merged.typeInter,    own.latencyInter[kind]};
  }
  input.collnet = c.collnet;
  input.collnetHeads = decisions.collnetHeads;
  input.collnetDirectHeads = decisions.collnetDirectHeads;
  input.collnetChains = decisions.collnetChains;
  input.nvls = c.nvlsHeads > 0;
  input.nvlsHeads = c.nvlsHeads;
  input.nvlsChunkBytes = c.nvlsChunkBytes;
  input.nvlsTreeChunkBytes = c.nvlsTreeChunkBytes;
  input.hasNvs = own.hasNvs;
  input.hostDevices = std::all_of(c.job.views.begin(), c.job.views.end(), [](const connect::RankView& v) {
    const auto gpus = v.system->nodes(topology::NodeType::kGpu);
    return std::all_of(gpus.begin(), gpus.end(),
                       [&](topology::NodeId gpu) { return v.system->gpu(gpu).hostDevice; });
  });
  input.nChannels = decisions.channels.total();
  input.nvlsChannels = decisions.nvlsChannels;
  return input;
}

}  // namespace xylem::tuning
