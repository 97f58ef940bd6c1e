// The driver of the plain search: asks for less and less until channels are found, then for more bandwidth
// again.

#include <algorithm>

#include "planner/paths/job_paths.h"
#include "planner/search/channel_search.h"
#include "planner/search/plain_search.h"
#include "planner/search/search.h"
#include "planner_support/rules.h"

namespace xylem::testing {
namespace {

void duplicate(search::ChannelGraph& g, int lowestSm) {
  if (g.nChannels == 0 || g.pattern == search::Pattern::kNvls || g.bwIntra < 25) return;
  if (lowestSm > 80 && g.bwIntra < 50 && g.nChannels > 4) return;
  const int count = std::min(2 * g.nChannels, g.maxChannels);
  for (int c = g.nChannels; c < count; ++c) {
    for (int i = 0; i < g.gpuCount; ++i)
      g.gpus[static_cast<std::size_t>(c * g.gpuCount + i)] = g.gpu(c - g.nChannels, i);
    for (int i = 0; i < 2; ++i)
      g.nets[static_cast<std::size_t>(2 * c + i)] =
          g.nets[static_cast<std::size_t>(2 * (c - g.nChannels) + i)];
  }
  const auto share = static_cast<float>((count + g.nChannels - 1) / g.nChannels);
  g.bwIntra /= share;
  g.bwInter /= share;
  g.nChannels = count;
}

paths::PathType next(paths::PathType type) { return paths::nextType(type, *testing::rules225()); }

}  // namespace

PlainHost::PlainHost(const topology::System& system, const paths::PathTable& paths,
                     const paths::Locality& locality, int crossNic)
    : system_(system), paths_(paths), crossNic_(crossNic), search_(system, paths, locality) {
  const search::HostBandwidth bandwidth = search::bandwidthOf(system, paths);
  maxBandwidth_ = bandwidth.max;
  totalBandwidth_ = bandwidth.total;
}

search::ChannelGraph PlainHost::compute(const search::GraphRequest& request) {
  const int gpus = system_.count(topology::NodeType::kGpu);
  const int nets = system_.count(topology::NodeType::kNet);
  int lowestSm = 1 << 20;
  for (topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu))
    lowestSm = std::min(lowestSm, system_.gpu(gpu).sm);
  const search::Pattern p = request.pattern;
  const bool crosses =
      p == search::Pattern::kRing || p == search::Pattern::kBalancedTree || p == search::Pattern::kSplitTree;
  const int crossNic = nets > 1 && crosses ? crossNic_ : 0;
  paths::PathType minIntra = paths::PathType::kLoc, maxIntra = paths::PathType::kSys,
                  minInter = paths::PathType::kPix, maxInter = paths::PathType::kSys;
  if (gpus > 1) {
    minIntra = paths::bestType(system_, paths_, topology::NodeType::kGpu);
    maxIntra = paths::worstType(system_, paths_, topology::NodeType::kGpu);
  }
  if (nets > 0) {
    minInter = paths::bestType(system_, paths_, topology::NodeType::kNet);
    maxInter = maxIntra = paths::worstType(system_, paths_, topology::NodeType::kNet);
  }
  const bool trySame = p != search::Pattern::kNvls;
  search::ChannelGraph graph;
  graph.pattern = p;
  graph.collNet = request.collNet;
  graph.minChannels = request.minChannels;
  graph.maxChannels = request.maxChannels;
  graph.gpuCount = gpus;
  graph.crossNic = crossNic == 1 ? 1 : 0;
  graph.typeIntra = minIntra;
  graph.typeInter = minInter;
  graph.sameChannels = trySame;
  graph.gpus.resize(static_cast<std::size_t>(64 * gpus));
  graph.nets.resize(128, -1);
  if (p == search::Pattern::kNvls && (!system_.hasNvs() || lowestSm < 90)) return graph;
  if (p == search::Pattern::kNvls) graph.maxChannels = std::min(32, gpus);
  if (p == search::Pattern::kCollnetDirect) graph.maxChannels = std::min(8, gpus);
  if (gpus == 1 && p != search::Pattern::kRing) graph.pattern = search::Pattern::kTree;
  if (nets == 0 && p == search::Pattern::kNvls) graph.minChannels = graph.maxChannels;

  search::ChannelGraph tmp = graph;
  const auto speeds = search::searchSpeeds(nets > 0, lowestSm, system_.rules());
  const std::size_t last = speeds.size() - 1;
  const auto firstUpTo = [&](float limit) {
    std::size_t i = 0;
    while (i < last && speeds[i] > limit) ++i;
    return i;
  };
  float total = totalBandwidth_;
  if (gpus > 1 && p != search::Pattern::kRing) total = static_cast<float>(total * (gpus / (gpus - 1.0)));
  std::size_t speed = 0;
  while (speed < last &&
         (speeds[speed] > maxBandwidth_ || speeds[speed] * static_cast<float>(graph.minChannels) > total))
    ++speed;
  tmp.bwIntra = tmp.bwInter = speeds[speed];
  std::int64_t global = search::kSearchBudgetGlobal;
  std::int64_t time = 0;
  std::vector<search::SearchAttempt> attempts;
  const auto search = [&] {
    time = tmp.sameChannels ? 256 : 16384;
    global -= time;
    search::SearchAttempt attempt{.bwIntra = tmp.bwIntra,
                                  .bwInter = tmp.bwInter,
                                  .typeIntra = tmp.typeIntra,
                                  .typeInter = tmp.typeInter,
                                  .crossNic = tmp.crossNic,
                                  .sameChannels = tmp.sameChannels};
    const std::int64_t before = search_.steps();
    attempt.channelsBefore = graph.nChannels;
    time = search_.run(tmp, graph, time);
    attempt.steps = search_.steps() - before;
    attempt.exhausted = time == 0;
    attempt.channelsAfter = graph.nChannels;
    attempts.push_back(attempt);
  };
  // Gives up one thing. Returns false if nothing is left to give up.
  const auto relax = [&] {
    const topology::Cpu* cpu = system_.firstCpu();
    const bool amd = cpu != nullptr && cpu->is(topology::CpuArch::kX86, topology::CpuVendor::kAmd);
    if (tmp.sameChannels && !(amd && tmp.typeIntra == paths::PathType::kSys))
      return tmp.sameChannels = false, true;
    tmp.sameChannels = trySame;
    global += time;
    if (global < 0 && graph.nChannels > 0) return false;
    if (lowestSm >= 90 && tmp.pattern == search::Pattern::kBalancedTree)
      return tmp.pattern = search::Pattern::kTree, true;
    tmp.pattern = graph.pattern;
    const bool none = graph.nChannels == 0;
    if (tmp.typeIntra < (nets > 0 ? tmp.typeInter : maxIntra) && (none || tmp.typeIntra < graph.typeIntra))
      return tmp.typeIntra = next(tmp.typeIntra), true;
    tmp.typeIntra = minIntra;
    if (nets > 0 && tmp.typeInter < maxInter &&
        (none || tmp.typeInter < graph.typeInter || tmp.typeInter < paths::PathType::kPxn))
      return tmp.typeInter = next(tmp.typeInter), true;
    tmp.typeInter = minInter;
    if (crossNic == 2 && tmp.crossNic == 0 &&
        (graph.pattern == search::Pattern::kRing || graph.pattern == search::Pattern::kBalancedTree))
      return tmp.crossNic = 2, true;
    tmp.crossNic = crossNic == 1 ? 1 : 0;
    if (speed < last && (none || speeds[speed + 1] / graph.bwInter > 0.49))
      return tmp.bwIntra = tmp.bwInter = speeds[++speed], true;
    return false;
  };
  do search();
  while (time != -1 && !(static_cast<float>(graph.nChannels) * graph.bwInter >= totalBandwidth_) && relax());

  duplicate(graph, lowestSm);
  tmp = graph;
  speed = firstUpTo(graph.bwInter);
  tmp.bwIntra = tmp.bwInter = speeds[speed];
  tmp.minChannels = graph.nChannels;
  const auto raise = [&] {
    if (graph.pattern == search::Pattern::kRing) return tmp.bwIntra = tmp.bwInter = speeds[--speed], true;
    if (graph.pattern == search::Pattern::kNvls && tmp.bwInter == graph.bwInter &&
        tmp.bwInter < 2 * tmp.bwIntra) {
      tmp.minChannels = tmp.maxChannels = graph.nChannels;
      return tmp.bwInter = speeds[--speed], true;
    }
    if (tmp.bwIntra == graph.bwIntra && tmp.bwIntra < 2 * tmp.bwInter)
      return tmp.bwIntra = speeds[--speed], true;
    return false;
  };
  time = -1;
  while (time != 0 && speed > 0 && raise()) search();
  graph.attempts = attempts;
  for (const search::SearchAttempt& attempt : attempts) graph.searchSteps += attempt.steps;
  return graph;
}

}  // namespace xylem::testing
