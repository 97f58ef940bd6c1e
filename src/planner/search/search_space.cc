#include "planner/search/search_space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "planner/search/search_memo.h"

namespace xylem::search {
namespace {

// GPUs below this compute capability spend an eighth of what they receive on the way back (acknowledgements).
constexpr int kFreeAcknowledgementSm = 80;
// Only the first NETs are considered by distance.
constexpr int kMaxNetsByDistance = 64;
// Most routes have this many steps: memory is reserved for them.
constexpr std::size_t kStepsPerRoute = 2;
// Bandwidths in ranking keys take 16 bits.
constexpr float kMaxKeyBandwidth = 65535.0f;

}  // namespace

SearchSpace::SearchSpace(const topology::System& system, const paths::PathTable& paths,
                         const paths::Locality& locality)
    : system_(system),
      paths_(paths),
      locality_(locality),
      gpuCount_(system.count(topology::NodeType::kGpu)),
      netCount_(system.usesNets() ? system.count(topology::NodeType::kNet) : 0),
      free_(system.links()) {
  if (system.hasNvs()) nvs_ = system.node(topology::NodeType::kNvs, 0);
  const auto gpus = system.nodes(topology::NodeType::kGpu);
  const topology::NodeId firstNet = system.node(topology::NodeType::kNet, 0);
  const IndexRange nets(firstNet, firstNet + netCount_);
  const auto endpoints = static_cast<std::size_t>(gpuCount_ + 2 * netCount_ + (hasNvs() ? 2 : 0));
  routes_.reserve(static_cast<std::size_t>(gpuCount_) * endpoints);
  steps_.reserve(kStepsPerRoute * routes_.capacity());
  for (topology::NodeId a : gpus)
    for (topology::NodeId b : gpus) addRoute(a, b);
  gpuToNet_ = routes_.size();
  for (topology::NodeId gpu : gpus)
    for (topology::NodeId net : nets) addRoute(gpu, net);
  netToGpu_ = routes_.size();
  for (topology::NodeId net : nets)
    for (topology::NodeId gpu : gpus) addRoute(net, gpu);
  nvsToGpu_ = routes_.size();
  if (hasNvs())
    for (topology::NodeId gpu : gpus) addRoute(nvs_, gpu);
  gpuToNvs_ = routes_.size();
  if (hasNvs())
    for (topology::NodeId gpu : gpus) addRoute(gpu, nvs_);
  rankGpus();
  rankNets();
}

// Walking a link takes bandwidth from it, and into some nodes also from the link back.
void SearchSpace::addSteps(const topology::Link& link, topology::LinkId id, bool fromGpu, bool widePci) {
  const bool pci = widePci && link.type == topology::LinkType::kPci;
  steps_.push_back({id, pci ? Share::kPci : Share::kWhole});
  const topology::NodeType to = system_.type(link.to);
  const bool acknowledged = !fromGpu && to == topology::NodeType::kGpu && system_.isDevice(link.to) &&
                            system_.gpu(link.to).sm < kFreeAcknowledgementSm;
  const bool power = link.type == topology::LinkType::kNvl && to == topology::NodeType::kCpu &&
                     system_.cpu(link.to).arch == topology::CpuArch::kPower;
  if (!acknowledged && !power) return;
  const topology::LinkId reverse = system_.findLink(link.to, link.from, link.type);
  if (reverse == topology::kNoLink)
    throw Error(ResultCode::kInvalidArgument,
                "the {} link {} -> {} has no counterpart in the other direction", topology::name(link.type),
                system_.name(link.from), system_.name(link.to));
  steps_.back().withNext = true;
  steps_.push_back({reverse, power ? Share::kWhole : pci ? Share::kPciEighth : Share::kWholeEighth});
}

// The links of a path, as searches count them.
int SearchSpace::hopsOf(const paths::Path& path, topology::NodeId from, topology::NodeId to) const {
  return system_.rules().hopsThroughDevices ? paths::hopsThroughDevices(system_, path, from, to) : path.hops;
}

void SearchSpace::addRoute(topology::NodeId from, topology::NodeId to) {
  const paths::Path& path = paths_.path(from, to);
  const auto links = paths_.links(path);
  const bool fromGpu = system_.type(from) == topology::NodeType::kGpu;
  const auto intoIntel = [&](topology::LinkId id) {
    const topology::NodeId node = system_.link(id).to;
    return system_.type(node) == topology::NodeType::kCpu &&
           system_.cpu(node).is(topology::CpuArch::kX86, topology::CpuVendor::kIntel);
  };
  Route route;
  route.firstStep = static_cast<std::int32_t>(steps_.size());
  route.hops = static_cast<std::int16_t>(hopsOf(path, from, to));
  route.type = path.type;
  route.reverseType = paths_.path(to, from).type;
  route.intra =
      system_.type(from) != topology::NodeType::kNet && system_.type(to) != topology::NodeType::kNet;
  route.bandwidth = path.bandwidth;
  const bool widePci =
      path.type == paths::PathType::kPhb && fromGpu && std::any_of(links.begin(), links.end(), intoIntel);
  for (topology::LinkId id : links) addSteps(system_.link(id), id, fromGpu, widePci);
  route.steps = static_cast<std::int16_t>(static_cast<std::int32_t>(steps_.size()) - route.firstStep);
  route.id = static_cast<std::int32_t>(routes_.size());
  const auto steps = stepsOf(route);
  unsigned shares = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    shares |= bit(steps[i].share);
    for (std::size_t j = 0; j < i; ++j) route.repeats |= steps[i].link == steps[j].link;
  }
  (route.intra ? intraShares_ : interShares_) |= shares;
  routes_.push_back(route);
}

void SearchSpace::takeNetBandwidth(int net, float amount) {
  for (int other : portNets_[static_cast<std::size_t>(port_[static_cast<std::size_t>(net)])])
    netBandwidth_[static_cast<std::size_t>(other)] -= amount;
}

std::uint64_t SearchSpace::netsHash() const {
  std::uint64_t hash = 0;
  for (const float bandwidth : netBandwidth_) hash = mixHash(hash, std::bit_cast<std::uint32_t>(bandwidth));
  return hash;
}

std::uint64_t SearchSpace::freeHash() const { return mixHash(netsHash(), free_.hash()); }

int SearchSpace::freePciBandwidth(int gpu) const {
  const auto [out, back] = gpuPci_[static_cast<std::size_t>(gpu)];
  if (out == topology::kNoLink) return -1;
  return free_.wholeOfNarrower(out, back, static_cast<int>(kMaxKeyBandwidth) - 1);
}

// Ranks all GPUs by their paths from each GPU, and finds each GPU's PCI link.
void SearchSpace::rankGpus() {
  const auto count = static_cast<std::size_t>(gpuCount_);
  gpusByPath_.resize(count);
  pathKey_.resize(count * count);
  for (int a = 0; a < gpuCount_; ++a) {
    auto& ranked = gpusByPath_[static_cast<std::size_t>(a)];
    ranked.reserve(count);
    for (int i = 1; i < gpuCount_; ++i) {
      const int b = (a + i) % gpuCount_;
      const Route& route = gpuToGpu(a, b);
      if (route.hops == 0) continue;
      // Smaller is better: bandwidth descending, then hops ascending.
      const auto bandwidth = static_cast<std::uint32_t>(std::min(route.bandwidth, kMaxKeyBandwidth));
      pathKey_[at(a, gpuCount_, b)] = ((65535u - bandwidth) << 16) | static_cast<std::uint16_t>(route.hops);
      ranked.push_back(b);
    }
    const auto better = [&](int x, int y) { return pathKey(a, x) < pathKey(a, y); };
    if (!std::is_sorted(ranked.begin(), ranked.end(), better))  // true for GPUs that are alike
      std::stable_sort(ranked.begin(), ranked.end(), better);
    alikeFrom_.push_back(ranked.empty() || pathKey(a, ranked.front()) == pathKey(a, ranked.back()) ? 1 : 0);
    const topology::NodeId node = system_.deviceOf(system_.node(topology::NodeType::kGpu, a));
    std::pair<topology::LinkId, topology::LinkId> pci{topology::kNoLink, topology::kNoLink};
    for (const topology::Link& link : system_.links(node)) {
      if (link.type != topology::LinkType::kPci) continue;
      const topology::LinkId out = system_.findLink(node, link.to, topology::LinkType::kPci);
      for (topology::LinkId back = system_.firstLink(link.to); back < system_.firstLink(link.to + 1);
           ++back) {
        if (system_.link(back).to != node || pci.first != topology::kNoLink) continue;
        pci = {out, back};
      }
      break;
    }
    gpuPci_.push_back(pci);
  }
}

bool SearchSpace::sameRail(int a, int b) const {
  const topology::Net& netA = netOf(a);
  const topology::Net& netB = netOf(b);
  if (system_.rules().rails && netA.rail >= 0 && netB.rail >= 0) return netA.rail == netB.rail;
  const auto hostOf = [&](int net) {
    return system_[system_.node(topology::NodeType::kNet, net)].key.system();
  };
  if (system_.rules().railsByHost && hostOf(a) != hostOf(b))
    return netA.card == netB.card && netA.port == netB.port;
  return samePort(a, b);
}

// Finds the ports, and ranks GPUs by their distance from each NET.
void SearchSpace::rankNets() {
  std::map<std::pair<std::uint64_t, int>, int> ports;
  portNets_.resize(static_cast<std::size_t>(netCount_));
  for (int n = 0; n < netCount_; ++n) {
    const topology::NodeId node = system_.node(topology::NodeType::kNet, n);
    const topology::Net& net = system_.net(node);
    netBandwidth_.push_back(net.bandwidth);
    uniformLatency_ &= net.latency == system_.net(system_.node(topology::NodeType::kNet, 0)).latency;
    port_.push_back(ports.emplace(std::pair{net.asic, net.port}, n).first->second);
    portNets_[static_cast<std::size_t>(port_.back())].push_back(n);
    const topology::NodeId local = locality_.localGpu(node);
    localGpu_.push_back(local == topology::kNoNode ? -1 : system_.position(local));

    float best = 0;
    for (int g = 0; g < gpuCount_; ++g) {
      const Route& route = netToGpu(n, g);
      const auto bandwidth = static_cast<std::uint64_t>(std::min(route.bandwidth, kMaxKeyBandwidth));
      netKey_.push_back(((65535 - bandwidth) << 32) + (std::uint64_t{65535} << 16) +
                        static_cast<std::uint16_t>(route.hops));
      best = std::max(best, route.bandwidth);
    }
    nearestGpus_.push_back(startsFrom(n));
    nearestBandwidth_.push_back(best);
  }
  const std::size_t lists = (static_cast<std::size_t>(gpuCount_) + 1) * paths::kPathTypes;
  netsWithin_.resize(lists);
  netsWithinMade_.resize(lists);
}

// By older rules the GPUs with most bandwidth over the fewest links; else the NIC's own GPU and then all nearest ones.
std::vector<int> SearchSpace::startsFrom(int net) const {
  std::vector<int> found;
  const int own = localGpu_[static_cast<std::size_t>(net)];
  if (system_.rules().searchStart == rules::SearchStart::kReplayOrLocal) {
    if (own >= 0) found.push_back(own);
    for (topology::NodeId gpu :
         locality_.nearest(system_.node(topology::NodeType::kNet, net), topology::NodeType::kGpu))
      if (system_.position(gpu) != own) found.push_back(system_.position(gpu));
    return found;
  }
  float best = 0;
  int hops = std::numeric_limits<int>::max();
  for (int g = 0; g < gpuCount_; ++g) {
    const Route& route = netToGpu(net, g);
    if (route.bandwidth > best) {
      best = route.bandwidth;
      hops = route.hops;
    } else if (route.bandwidth == best && route.hops > 0 && route.hops < hops) {
      hops = route.hops;
    }
  }
  for (int g = 0; g < gpuCount_; ++g)
    if (netToGpu(net, g).bandwidth == best && netToGpu(net, g).hops == hops) found.push_back(g);
  return found;
}

// GPU after GPU, all NETs of each; in a graph of several hosts, by newer rules, channel after channel, a NET of each GPU.
void SearchSpace::listLocalNets(int first, int last,
                                const std::function<void(topology::NodeId)>& append) const {
  const auto node = [&](int g) { return system_.node(topology::NodeType::kGpu, g); };
  bool severalHosts = false;
  for (int g = 1; g < gpuCount_; ++g)
    severalHosts |= system_[node(g)].key.system() != system_[node(0)].key.system();
  if (!system_.rules().scattersNets || !severalHosts) {
    for (int g = first; g < last; ++g)
      for (topology::NodeId net : locality_.localNets(node(g))) append(net);
    return;
  }
  std::vector<bool> closed(static_cast<std::size_t>(last), false);
  for (int channel = 0; channel < paths::kMaxChannels; ++channel) {
    for (int g = first; g < last; ++g) {
      if (closed[static_cast<std::size_t>(g)]) continue;
      const topology::NodeId net = locality_.localNet(node(g), channel);
      if (channel > 0 && net == locality_.localNet(node(g), 0))
        closed[static_cast<std::size_t>(g)] = true;
      else
        append(net);
    }
  }
}

// A GPU's local NETs come first, in the order in which its channels use them; then all others by path type.
std::span<const int> SearchSpace::netsWithin(int gpu, paths::PathType type) const {
  const std::size_t slot = at(gpu + 1, paths::kPathTypes, static_cast<int>(type));
  std::vector<int>& list = netsWithin_[slot];
  if (netsWithinMade_[slot] != 0) return list;
  netsWithinMade_[slot] = 1;
  std::vector<bool> listed(static_cast<std::size_t>(netCount_), false);
  const auto append = [&](int net) {
    if (listed[static_cast<std::size_t>(net)]) return;
    listed[static_cast<std::size_t>(net)] = true;
    list.push_back(net);
  };
  const int first = gpu < 0 ? 0 : gpu;
  const int last = gpu < 0 ? gpuCount_ : gpu + 1;
  if (netCount_ > 0) listLocalNets(first, last, [&](topology::NodeId net) { append(system_.position(net)); });
  // By NCCL_NETDEVS_POLICY=MAX:N no more NETs are added than N per GPU.
  const int perGpu = system_.rules().netsPerGpu;
  const auto full = [&] { return perGpu > 0 && static_cast<int>(list.size()) >= perGpu * (last - first); };
  if (full()) return list;
  for (int t = 0; t <= static_cast<int>(type); ++t)
    for (int g = first; g < last; ++g)
      for (int net = 0; net < std::min(netCount_, kMaxNetsByDistance); ++net) {
        if (gpuToNet(g, net).type != static_cast<paths::PathType>(t)) continue;
        append(net);
        if (full()) return list;
      }
  return list;
}

ChannelLoads::ChannelLoads(const SearchSpace& space, const ChannelGraph& graph) {
  const auto load = [&](Portion portion) -> Load& { return loads_[static_cast<std::size_t>(portion)]; };
  load(Portion::kIntra) = space.intraLoad(graph.bwIntra);
  load(Portion::kInter) = space.interLoad(graph.bwInter);
  if (graph.pattern == Pattern::kBalancedTree) load(Portion::kInterHalf) = space.interLoad(graph.bwInter / 2);
  if (graph.pattern == Pattern::kNvls) load(Portion::kIntraTwice) = Load(graph.bwIntra * 2);
  if (graph.pattern == Pattern::kCollnetDirect)
    load(Portion::kIntraPart) =
        Load(graph.bwIntra * static_cast<float>(1.0 / std::max(graph.gpuCount - 1, 1)));
}

}  // namespace xylem::search
