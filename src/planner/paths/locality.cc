#include "planner/paths/locality.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace xylem::paths {
namespace {

// The lowest `bits` bits of `value` in reverse order.
unsigned reverseBits(unsigned value, int bits) {
  unsigned reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= ((value >> i) & 1u) << (bits - 1 - i);
  return reversed;
}

}  // namespace

namespace {

// The one of the CPUs to which a GPU's path has the fewest links.
template <typename Cpus>
topology::NodeId closestOf(const Cpus& cpus, const topology::System& system, const PathTable& paths,
                           topology::NodeId gpu) {
  topology::NodeId closest = topology::kNoNode;
  int hops = 0;
  for (topology::NodeId cpu : cpus) {
    const int distance = paths.path(gpu, cpu).hops;
    if (distance <= 0 || (closest != topology::kNoNode && distance >= hops)) continue;
    closest = cpu;
    hops = distance;
  }
  if (closest == topology::kNoNode)
    throw Error(ResultCode::kInvalidArgument, "{} reaches no CPU", system.name(gpu));
  return closest;
}

}  // namespace

topology::NodeId closestCpu(const topology::System& system, const PathTable& paths, topology::NodeId gpu) {
  if (!system.rules().widestCpuIsClosest)
    return closestOf(system.nodes(topology::NodeType::kCpu), system, paths, gpu);
  return closestOf(Locality(system, paths).nearest(gpu, topology::NodeType::kCpu), system, paths, gpu);
}

Locality::Locality(const topology::System& system, const PathTable& paths)
    : system_(system), paths_(paths), near_(static_cast<std::size_t>(system.nodeCount())) {}

std::vector<topology::NodeId> Locality::nearest(topology::NodeId from, topology::NodeType type) const {
  std::vector<topology::NodeId> found;
  float bandwidth = 0;
  PathType best = PathType::kDis;
  for (topology::NodeId node : system_.nodes(type)) {
    const Path& path = paths_.path(from, node);
    if (path.bandwidth > bandwidth || (path.bandwidth == bandwidth && path.type < best)) {
      found.clear();
      bandwidth = path.bandwidth;
      best = path.type;
    }
    if (path.bandwidth == bandwidth && path.type == best) found.push_back(node);
  }
  return found;
}

const std::vector<topology::NodeId>& Locality::nets(topology::NodeId gpu) const {
  auto& list = near_[static_cast<std::size_t>(gpu)];
  if (!list) list = nearest(gpu, topology::NodeType::kNet);
  return *list;
}

const std::vector<topology::NodeId>& Locality::gpus(topology::NodeId net) const {
  auto& list = near_[static_cast<std::size_t>(net)];
  if (!list) list = nearest(net, topology::NodeType::kGpu);
  return *list;
}

void Locality::forget(topology::NodeId gpu, topology::NodeId net) {
  near_[static_cast<std::size_t>(gpu)].reset();
  near_[static_cast<std::size_t>(net)].reset();
}

int Locality::sharing(topology::NodeId gpu) const { return static_cast<int>(gpus(nets(gpu).front()).size()); }

int Locality::period(topology::NodeId gpu) const {
  const int near = static_cast<int>(nets(gpu).size());
  const int wanted = system_.rules().netsPerGpu;
  if (wanted == rules::kAllNets) return near;
  if (wanted != rules::kSharedNets) return std::min(wanted, near);
  return (near + sharing(gpu) - 1) / sharing(gpu);
}

// GPUs start at different NICs of the list, so that neighbouring GPUs do not share one; reversing the bits of
// the device number spreads them furthest. On each further channel of the period a GPU takes the next NIC.
NetPick Locality::pickNet(topology::NodeId gpu, int channel) const {
  const auto& list = nets(gpu);
  if (list.empty())
    throw Error(ResultCode::kInvalidArgument, "{} has no network device within reach", system_.name(gpu));
  const auto size = static_cast<unsigned>(list.size());
  NetPick pick{.near = static_cast<int>(size), .dev = system_.gpu(gpu).dev};
  pick.sharing = sharing(gpu);
  if (system_.rules().localNetBySharing) pick.dev %= std::max(pick.sharing, 1);
  auto start = static_cast<unsigned>(pick.dev);
  pick.reversed = std::has_single_bit(size);
  if (pick.reversed) start = reverseBits(start, std::countr_zero(size));
  pick.period = period(gpu);
  pick.turn = channel % pick.period;
  pick.start = static_cast<int>(start);
  pick.net = list[(start + static_cast<unsigned>(pick.turn)) % size];
  return pick;
}

std::vector<topology::NodeId> Locality::localNets(topology::NodeId gpu) const {
  std::vector<topology::NodeId> result;
  if (nets(gpu).empty()) return result;
  for (int channel = 0; channel < kMaxChannels; ++channel) {
    const topology::NodeId net = localNet(gpu, channel);
    if (channel > 0 && net == result.front()) break;
    if (std::find(result.begin(), result.end(), net) == result.end()) result.push_back(net);
  }
  return result;
}

// Looks for a GPU that uses the NIC, channel by channel among the NIC's nearest GPUs, until all their choices
// repeat.
topology::NodeId Locality::localGpu(topology::NodeId net) const {
  int channels = 1;
  for (topology::NodeId gpu : gpus(net)) channels = std::max(channels, period(gpu));
  for (int channel = 0; channel < std::min(channels, kMaxChannels); ++channel)
    for (topology::NodeId gpu : gpus(net))
      if (localNet(gpu, channel) == net) return gpu;
  return topology::kNoNode;
}

Locality::NetsByBandwidth Locality::netsByBandwidth(topology::NodeId gpu) const {
  NetsByBandwidth used;
  if (nets(gpu).empty()) return used;
  const auto add = [&](topology::NodeId net) {
    ++used.count;
    used.bandwidth += paths_.path(gpu, net).bandwidth;
  };
  if (system_.rules().p2pByNetBandwidth) {
    const float wanted = paths_.path(gpu, closestCpu(system_, paths_, gpu)).bandwidth;
    for (int channel = 0; channel < kMaxChannels; ++channel) {
      const topology::NodeId net = localNet(gpu, channel);
      if (channel > 0 && net == localNet(gpu, 0)) break;
      add(net);
      if (used.bandwidth >= wanted) break;
    }
    return used;
  }
  float wanted = 0;
  for (const topology::Link& link : system_.links(gpu))
    if (system_.type(link.to) == topology::NodeType::kCpu) wanted = link.bandwidth;
  for (topology::NodeId net : nets(gpu)) {
    if (!(used.bandwidth < wanted)) break;
    add(net);
  }
  return used;
}

}  // namespace xylem::paths
