#include "paths/job_paths.h"

#include <algorithm>

#include "core/error.h"
#include "paths/find_paths.h"

namespace xylem {
namespace {

NodeId closestCpu(const System& system, const PathTable& paths, NodeId gpu) {
  NodeId closest = kNoNode;
  int hops = 0;
  for (NodeId cpu : system.nodes(NodeType::kCpu)) {
    const int distance = paths.path(gpu, cpu).hops;
    if (distance <= 0 || (closest != kNoNode && distance >= hops)) continue;
    closest = cpu;
    hops = distance;
  }
  if (closest == kNoNode) throw Error(ResultCode::kInvalidArgument, "{} reaches no CPU", system.name(gpu));
  return closest;
}

// The adjustments see each other's effects, in this order.
class Adjustment {
 public:
  Adjustment(const System& system, PathTable& paths, const ReachOptions& options,
             std::vector<Decision>* decisions)
      : system_(system),
        paths_(paths),
        locality_(system, paths),
        reach_(system, paths, locality_, options),
        decisions_(decisions) {}

  void run() {
    for (NodeId to : system_.nodes(NodeType::kGpu)) adjustPathsTo(to);
    for (NodeId net : system_.nodes(NodeType::kNet))
      for (NodeId gpu : system_.nodes(NodeType::kGpu)) adjustNet(gpu, net);
  }

 private:
  void adjustPathsTo(NodeId to) {
    for (NodeId from : system_.nodes(NodeType::kGpu)) {
      const Decision direct = note(reach_.p2p(from, to));
      if (!direct.yes) paths_.detour(system_, from, closestCpu(system_, paths_, to), to);
    }
    for (NodeId from : system_.nodes(NodeType::kGpu)) {
      if (from == to || reach_.transportP2p(from, to).yes) continue;
      if (!note(reach_.transportShm(from, to)).yes) paths_.setType(from, to, PathType::kNet);
    }
  }

  void adjustNet(NodeId gpu, NodeId net) {
    const Decision pxn = reach_.pxn(gpu, net);
    if (pxn.yes) {
      note(pxn);
      paths_.detour(system_, gpu, pxn.relay, net);
      locality_.forget(gpu, net);
    }
    if (paths_.path(gpu, net).type >= PathType::kPhb) return;
    if (note(reach_.gdr(gpu, net, Direction::kReceive)).yes) return;
    const NodeId cpu = closestCpu(system_, paths_, gpu);
    paths_.detour(system_, net, cpu, gpu);
    paths_.detour(system_, gpu, cpu, net);
    locality_.forget(gpu, net);
  }

  const Decision& note(const Decision& decision) {
    if (decisions_ != nullptr) decisions_->push_back(decision);
    return decision;
  }

  const System& system_;
  PathTable& paths_;
  Locality locality_;
  Reach reach_;
  std::vector<Decision>* decisions_;
};

}  // namespace

PathTable findUsablePaths(const System& system, const ReachOptions& options,
                          std::vector<Decision>* decisions) {
  PathTable paths = findPaths(system, !options.nvbDisable);
  Adjustment(system, paths, options, decisions).run();
  return paths;
}

std::vector<int> domains(const System& system, const ReachOptions& options) {
  const PathTable paths = findUsablePaths(system, options);
  std::vector<int> domain(static_cast<std::size_t>(system.count(NodeType::kGpu)));
  for (std::size_t g = 0; g < domain.size(); ++g) {
    domain[g] = static_cast<int>(g);
    for (std::size_t p = 0; p < g; ++p) {
      const NodeId from = system.node(NodeType::kGpu, static_cast<int>(g));
      const NodeId to = system.node(NodeType::kGpu, static_cast<int>(p));
      if (paths.path(from, to).type < PathType::kNet) domain[g] = std::min(domain[g], domain[p]);
    }
  }
  return domain;
}

HostPaths pathsOfDomain(const System& system, const std::vector<int>& domain, int which, int jobSize,
                        const ReachOptions& options) {
  std::vector<bool> removed(static_cast<std::size_t>(system.nodeCount()), false);
  int kept = 0;
  for (std::size_t g = 0; g < domain.size(); ++g) {
    const bool mine = domain[g] == which;
    kept += mine ? 1 : 0;
    removed[static_cast<std::size_t>(system.node(NodeType::kGpu, static_cast<int>(g)))] = !mine;
  }
  if (kept == jobSize)
    for (NodeId net : system.nodes(NodeType::kNet)) removed[static_cast<std::size_t>(net)] = true;
  System trimmed = system.without(removed);
  std::vector<Decision> decisions;
  PathTable paths = findUsablePaths(trimmed, options, &decisions);
  return {std::move(trimmed), std::move(paths), std::move(decisions)};
}

namespace {

template <typename Visit>
void forEachGpuPath(const System& system, const PathTable& paths, NodeType type, const Visit& visit) {
  for (NodeId gpu : system.nodes(NodeType::kGpu))
    for (NodeId node : system.nodes(type))
      if (node != gpu) visit(paths.path(gpu, node).type);
}

}  // namespace

PathType bestType(const System& system, const PathTable& paths, NodeType type) {
  PathType best = PathType::kSys;
  forEachGpuPath(system, paths, type, [&](PathType t) { best = std::min(best, t); });
  return best;
}

PathType worstType(const System& system, const PathTable& paths, NodeType type) {
  PathType worst = PathType::kLoc;
  forEachGpuPath(system, paths, type, [&](PathType t) { worst = std::max(worst, t); });
  return worst;
}

}  // namespace xylem
