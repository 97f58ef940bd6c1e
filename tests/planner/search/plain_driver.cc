// The driver of the plain search: asks for less and less until channels are found, then for more bandwidth
// again.

#include <algorithm>

#include "planner/search/plain_search.h"
#include "planner/search/search.h"
#include "planner/search/channel_search.h"
#include "planner/paths/job_paths.h"

namespace xylem::testing {
namespace {

void duplicate(ChannelGraph& g, int lowestSm) {
  if (g.nChannels == 0 || g.pattern == Pattern::kNvls || g.bwIntra < 25) return;
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

PathType next(PathType type) { return static_cast<PathType>(static_cast<int>(type) + 1); }

}  // namespace

PlainHost::PlainHost(const System& system, const PathTable& paths, const Locality& locality, int crossNic)
    : system_(system), paths_(paths), crossNic_(crossNic), search_(system, paths, locality) {
  const HostBandwidth bandwidth = bandwidthOf(system, paths);
  maxBandwidth_ = bandwidth.max;
  totalBandwidth_ = bandwidth.total;
}

ChannelGraph PlainHost::compute(const GraphRequest& request) {
  const int gpus = system_.count(NodeType::kGpu);
  const int nets = system_.count(NodeType::kNet);
  int lowestSm = 1 << 20;
  for (NodeId gpu : system_.nodes(NodeType::kGpu)) lowestSm = std::min(lowestSm, system_.gpu(gpu).sm);
  const Pattern p = request.pattern;
  const bool crosses = p == Pattern::kRing || p == Pattern::kBalancedTree || p == Pattern::kSplitTree;
  const int crossNic = nets > 1 && crosses ? crossNic_ : 0;
  PathType minIntra = PathType::kLoc, maxIntra = PathType::kSys, minInter = PathType::kPix,
           maxInter = PathType::kSys;
  if (gpus > 1) {
    minIntra = bestType(system_, paths_, NodeType::kGpu);
    maxIntra = worstType(system_, paths_, NodeType::kGpu);
  }
  if (nets > 0) {
    minInter = bestType(system_, paths_, NodeType::kNet);
    maxInter = maxIntra = worstType(system_, paths_, NodeType::kNet);
  }
  const bool trySame = p != Pattern::kNvls;
  ChannelGraph graph;
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
  if (p == Pattern::kNvls && (!system_.hasNvs() || lowestSm < 90)) return graph;
  if (p == Pattern::kNvls) graph.maxChannels = std::min(32, gpus);
  if (p == Pattern::kCollnetDirect) graph.maxChannels = std::min(8, gpus);
  if (gpus == 1 && p != Pattern::kRing) graph.pattern = Pattern::kTree;
  if (nets == 0 && p == Pattern::kNvls) graph.minChannels = graph.maxChannels;

  ChannelGraph tmp = graph;
  const auto speeds = searchSpeeds(nets > 0, lowestSm);
  const std::size_t last = speeds.size() - 1;
  const auto firstUpTo = [&](float limit) {
    std::size_t i = 0;
    while (i < last && speeds[i] > limit) ++i;
    return i;
  };
  float total = totalBandwidth_;
  if (gpus > 1 && p != Pattern::kRing) total = static_cast<float>(total * (gpus / (gpus - 1.0)));
  std::size_t speed = 0;
  while (speed < last &&
         (speeds[speed] > maxBandwidth_ || speeds[speed] * static_cast<float>(graph.minChannels) > total))
    ++speed;
  tmp.bwIntra = tmp.bwInter = speeds[speed];
  std::int64_t global = kSearchBudgetGlobal;
  std::int64_t time = 0;
  std::vector<SearchAttempt> attempts;
  const auto search = [&] {
    time = tmp.sameChannels ? 256 : 16384;
    global -= time;
    SearchAttempt attempt{.bwIntra = tmp.bwIntra,
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
    const Cpu* cpu = system_.firstCpu();
    const bool amd = cpu != nullptr && cpu->is(CpuArch::kX86, CpuVendor::kAmd);
    if (tmp.sameChannels && !(amd && tmp.typeIntra == PathType::kSys)) return tmp.sameChannels = false, true;
    tmp.sameChannels = trySame;
    global += time;
    if (global < 0 && graph.nChannels > 0) return false;
    if (lowestSm >= 90 && tmp.pattern == Pattern::kBalancedTree) return tmp.pattern = Pattern::kTree, true;
    tmp.pattern = graph.pattern;
    const bool none = graph.nChannels == 0;
    if (tmp.typeIntra < (nets > 0 ? tmp.typeInter : maxIntra) && (none || tmp.typeIntra < graph.typeIntra))
      return tmp.typeIntra = next(tmp.typeIntra), true;
    tmp.typeIntra = minIntra;
    if (nets > 0 && tmp.typeInter < maxInter &&
        (none || tmp.typeInter < graph.typeInter || tmp.typeInter < PathType::kPxn))
      return tmp.typeInter = next(tmp.typeInter), true;
    tmp.typeInter = minInter;
    if (crossNic == 2 && tmp.crossNic == 0 &&
        (graph.pattern == Pattern::kRing || graph.pattern == Pattern::kBalancedTree))
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
    if (graph.pattern == Pattern::kRing) return tmp.bwIntra = tmp.bwInter = speeds[--speed], true;
    if (graph.pattern == Pattern::kNvls && tmp.bwInter == graph.bwInter && tmp.bwInter < 2 * tmp.bwIntra) {
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
  for (const SearchAttempt& attempt : attempts) graph.searchSteps += attempt.steps;
  return graph;
}

}  // namespace xylem::testing
