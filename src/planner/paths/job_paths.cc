#include "planner/paths/job_paths.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "planner/paths/find_paths.h"

namespace xylem::paths {
namespace {

// Adjusts the paths of the base search in NCCL's order: first those between GPUs, destination by destination,
// then those between GPUs and NETs. A later adjustment sees the paths that earlier ones have changed.
class Adjustment {
 public:
  Adjustment(const topology::System& system, PathTable& paths, const ReachOptions& options,
             std::vector<Decision>* decisions)
      : system_(system),
        paths_(paths),
        locality_(system, paths),
        reach_(system, paths, locality_, options),
        decisions_(decisions) {}

  void run() {
    for (topology::NodeId to : system_.nodes(topology::NodeType::kGpu)) adjustPathsTo(to);
    nearNicsOverC2c();
    for (topology::NodeId net : system_.nodes(topology::NodeType::kNet))
      for (topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu)) adjustNet(gpu, net);
  }

 private:
  void adjustPathsTo(topology::NodeId to) {
    // For each GPU: does the P2P transport accept the pair? A pair that is too far apart takes a detour
    // through a CPU; the transport's rule then judges the detour.
    transportable_.clear();
    for (topology::NodeId from : system_.nodes(topology::NodeType::kGpu)) {
      const Decision direct = note(reach_.p2p(from, to));
      if (!direct.yes) paths_.detour(system_, from, closestCpu(system_, paths_, to), to);
      const Decision transport = direct.yes ? reach_.transportP2p(direct) : reach_.transportP2p(from, to);
      transportable_.push_back(transport.yes ? 1 : 0);
    }
    for (topology::NodeId from : system_.nodes(topology::NodeType::kGpu)) {
      if (from == to || transportable_[static_cast<std::size_t>(system_.position(from))] != 0) continue;
      if (!note(reach_.transportShm(from, to)).yes) paths_.setType(from, to, PathType::kNet);
    }
  }

  // A NIC behind the CPU at the other end of the GPU's chip-to-chip link is nearer than one behind another CPU.
  void nearNicsOverC2c() {
    const rules::P2cNets which = system_.rules().p2cNets;
    if (which == rules::P2cNets::kNone) return;
    for (topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu)) {
      if (system_.count(topology::NodeType::kNet) == 0) return;
      const topology::NodeId cpu = closestCpu(system_, paths_, gpu);
      if (which == rules::P2cNets::kNearest) {
        for (topology::NodeId net : locality_.nearest(gpu, topology::NodeType::kNet))
          joinOverC2c(gpu, cpu, net);
      } else {
        for (topology::NodeId net : system_.nodes(topology::NodeType::kNet)) joinOverC2c(gpu, cpu, net);
      }
    }
  }

  void joinOverC2c(topology::NodeId gpu, topology::NodeId cpu, topology::NodeId net) {
    const PathType type = joinedType(paths_.path(gpu, cpu).type, paths_.path(net, cpu).type, system_.rules());
    if (type != PathType::kP2c) return;
    paths_.setType(gpu, net, std::min(type, paths_.path(gpu, net).type));
    paths_.setType(net, gpu, std::min(type, paths_.path(net, gpu).type));
    locality_.forget(gpu, net);
  }

  void adjustNet(topology::NodeId gpu, topology::NodeId net) {
    const Decision pxn = reach_.pxn(gpu, net);
    if (pxn.yes) {
      note(pxn);
      paths_.detour(system_, gpu, pxn.relay, net);
      locality_.forget(gpu, net);
    }
    if (paths_.path(gpu, net).type >= PathType::kPhb) return;
    if (note(reach_.gdr(gpu, net, Direction::kReceive)).yes) return;
    const topology::NodeId cpu = closestCpu(system_, paths_, gpu);
    paths_.detour(system_, net, cpu, gpu);
    paths_.detour(system_, gpu, cpu, net);
    locality_.forget(gpu, net);
  }

  const Decision& note(const Decision& decision) {
    if (decisions_ != nullptr) decisions_->push_back(decision);
    return decision;
  }

  const topology::System& system_;
  PathTable& paths_;
  Locality locality_;
  Reach reach_;
  std::vector<Decision>* decisions_;
  std::vector<std::uint8_t> transportable_;  // by GPU
};

// Returns whether the P2P transport accepts the paths of all GPUs to the first one. Then there is one domain,
// and a search for a few destinations has shown it.
bool allReachTheFirst(const topology::System& system, const ReachOptions& options) {
  if (system.count(topology::NodeType::kGpu) == 0) return false;
  const topology::NodeId first = system.node(topology::NodeType::kGpu, 0);
  std::vector<topology::NodeId> destinations{first};
  for (topology::NodeId net : system.nodes(topology::NodeType::kNet)) destinations.push_back(net);
  const PathTable paths = findPaths(system, !options.nvbDisable, destinations);
  const Locality locality(system, paths);
  const Reach reach(system, paths, locality, options);
  const auto gpus = system.nodes(topology::NodeType::kGpu);
  return std::all_of(gpus.begin(), gpus.end(), [&](topology::NodeId gpu) {
    return gpu == first ||
           (paths.path(gpu, first).type < PathType::kNet && reach.transportP2p(gpu, first).yes);
  });
}

PathTable::Wires wiresOf(const topology::System& system, const ReachOptions& options) {
  const PathTable plain = findPaths(system, !options.nvbDisable);
  PathTable::Wires wires;
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    if (!system.isDevice(gpu)) continue;
    const auto widest = [&](topology::NodeType type, float& best) {
      for (topology::NodeId node : system.nodes(type))
        if (const Path& path = plain.path(gpu, node);
            path.hops > 0 && (type != topology::NodeType::kGpu || system.isDevice(node)))
          best = std::max(best, path.bandwidth);
    };
    widest(topology::NodeType::kNet, wires.toNets);
    widest(topology::NodeType::kGpu, wires.toGpus);
    wires.total = std::max(wires.total, sendBandwidth(system, gpu));
  }
  return wires;
}

// The types of the paths from GPUs to other nodes of `type`, as a set of bits: bit t for PathType t.
unsigned typesTo(const topology::System& system, const PathTable& paths, topology::NodeType type) {
  unsigned types = 0;
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu))
    for (topology::NodeId node : system.nodes(type))
      if (node != gpu) types |= 1u << static_cast<unsigned>(paths.path(gpu, node).type);
  return types;
}

}  // namespace

PathTable findUsablePaths(const topology::System& system, const ReachOptions& options,
                          std::vector<Decision>* decisions) {
  PathTable paths = findPaths(system, !options.nvbDisable);
  Adjustment(system, paths, options, decisions).run();
  return paths;
}

std::vector<int> domains(const topology::System& system, const ReachOptions& options) {
  if (allReachTheFirst(system, options))
    return std::vector<int>(static_cast<std::size_t>(system.count(topology::NodeType::kGpu)), 0);
  const PathTable paths = findUsablePaths(system, options);
  std::vector<int> domain(static_cast<std::size_t>(system.count(topology::NodeType::kGpu)));
  for (std::size_t g = 0; g < domain.size(); ++g) {
    domain[g] = static_cast<int>(g);
    for (std::size_t p = 0; p < g; ++p) {
      const topology::NodeId from = system.node(topology::NodeType::kGpu, static_cast<int>(g));
      const topology::NodeId to = system.node(topology::NodeType::kGpu, static_cast<int>(p));
      if (paths.path(from, to).type < PathType::kNet) domain[g] = std::min(domain[g], domain[p]);
    }
  }
  return domain;
}

HostPaths pathsOfDomain(const topology::System& system, const std::vector<int>& domain, int which,
                        int jobSize, const ReachOptions& options, bool withDecisions) {
  std::vector<bool> removed(static_cast<std::size_t>(system.nodeCount()), false);
  int kept = 0;
  for (std::size_t g = 0; g < domain.size(); ++g) {
    const bool mine = domain[g] == which;
    kept += mine ? 1 : 0;
    removed[static_cast<std::size_t>(system.node(topology::NodeType::kGpu, static_cast<int>(g)))] = !mine;
  }
  const bool alone = kept == jobSize;
  const bool dropsNets = alone && !system.rules().keepsNets;
  if (dropsNets)
    for (topology::NodeId net : system.nodes(topology::NodeType::kNet))
      removed[static_cast<std::size_t>(net)] = true;
  topology::System trimmed = system.without(removed);
  trimmed.setSpansHosts(!alone);
  std::vector<Decision> decisions;
  const auto gpus = static_cast<std::size_t>(trimmed.count(topology::NodeType::kGpu));
  if (withDecisions)
    decisions.reserve(gpus * (gpus + static_cast<std::size_t>(trimmed.count(topology::NodeType::kNet))));
  PathTable paths = findUsablePaths(trimmed, options, withDecisions ? &decisions : nullptr);
  if (system.rules().bandwidthOfWires) paths.wires = wiresOf(system, options);
  return {std::move(trimmed), std::move(paths), std::move(decisions)};
}

float sendBandwidth(const topology::System& system, topology::NodeId gpu) {
  float pci = 0;
  float nvlinks = 0;
  for (const topology::Link& link : system.links(gpu)) {
    if (link.type == topology::LinkType::kPci) pci = link.bandwidth;
    if (link.type == topology::LinkType::kNvl) nvlinks += link.bandwidth;
  }
  return std::max(pci, nvlinks);
}

PathType bestType(const topology::System& system, const PathTable& paths, topology::NodeType type) {
  const unsigned types = typesTo(system, paths, type) | 1u << static_cast<unsigned>(PathType::kSys);
  return static_cast<PathType>(std::countr_zero(types));
}

PathType worstType(const topology::System& system, const PathTable& paths, topology::NodeType type) {
  const unsigned types = typesTo(system, paths, type) | 1u << static_cast<unsigned>(PathType::kLoc);
  return static_cast<PathType>(std::bit_width(types) - 1);
}

}  // namespace xylem::paths
