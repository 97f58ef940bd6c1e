#include "channels/search_space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"

namespace xylem {
namespace {

// GPUs below this compute capability spend an eighth of what they receive on the way back (acknowledgements).
constexpr int kFreeAcknowledgementSm = 80;
constexpr float kAcknowledgementShare = 1.0f / 8.0f;
// Only the first NETs are considered by distance.
constexpr int kMaxNetsByDistance = 64;
// Bandwidths in ranking keys take 16 bits.
constexpr float kMaxKeyBandwidth = 65535.0f;

// roundf(x * 1000) / 1000 for x >= 0 in 32-bit floats, without the call. The sum in double is exact, so that
// truncating it rounds half up.
inline float roundMilli(float x) {
  const float scaled = x * 1000.0f;
  if (scaled >= 8388608.0f) return scaled / 1000.0f;  // no fraction left to round
  return static_cast<float>(static_cast<std::int32_t>(static_cast<double>(scaled) + 0.5)) / 1000.0f;
}

// The weight of a link or NET in the hash of what is free.
constexpr std::uint64_t hashWeight(std::uint64_t index) {
  std::uint64_t x = (index + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) | 1;
}

}  // namespace

SearchSpace::SearchSpace(const System& system, const PathTable& paths, const Locality& locality)
    : system_(system),
      paths_(paths),
      locality_(locality),
      gpuCount_(system.count(NodeType::kGpu)),
      netCount_(system.count(NodeType::kNet)) {
  if (system.hasNvs()) nvs_ = system.node(NodeType::kNvs, 0);
  for (const Link& link : system.links()) free_.push_back(link.bandwidth);
  for (std::size_t i = 0; i < free_.size() + static_cast<std::size_t>(netCount_); ++i)
    weight_.push_back(hashWeight(i));
  const auto gpus = system.nodes(NodeType::kGpu);
  const auto nets = system.nodes(NodeType::kNet);
  for (NodeId a : gpus)
    for (NodeId b : gpus) addRoute(a, b);
  gpuToNet_ = routes_.size();
  for (NodeId gpu : gpus)
    for (NodeId net : nets) addRoute(gpu, net);
  netToGpu_ = routes_.size();
  for (NodeId net : nets)
    for (NodeId gpu : gpus) addRoute(net, gpu);
  nvsToGpu_ = routes_.size();
  if (hasNvs())
    for (NodeId gpu : gpus) addRoute(nvs_, gpu);
  gpuToNvs_ = routes_.size();
  if (hasNvs())
    for (NodeId gpu : gpus) addRoute(gpu, nvs_);
  rankGpus();
  rankNets();
}

SearchSpace::Step SearchSpace::step(const Link& link, LinkId id, bool fromGpu) const {
  Step step{id, kNoLink, 0, link.type == LinkType::kPci};
  const NodeType to = system_.type(link.to);
  if (to == NodeType::kGpu && system_.gpu(link.to).sm < kFreeAcknowledgementSm && !fromGpu)
    step.reverseShare = kAcknowledgementShare;
  else if (to == NodeType::kCpu && system_.cpu(link.to).arch == CpuArch::kPower &&
           link.type == LinkType::kNvl)
    step.reverseShare = 1.0f;
  if (step.reverseShare == 0) return step;
  step.reverse = system_.findLink(link.to, link.from, link.type);
  if (step.reverse == kNoLink)
    throw Error(ResultCode::kInvalidArgument,
                "the {} link {} -> {} has no counterpart in the other direction", name(link.type),
                system_.name(link.from), system_.name(link.to));
  return step;
}

void SearchSpace::addRoute(NodeId from, NodeId to) {
  const Path& path = paths_.path(from, to);
  const bool fromGpu = system_.type(from) == NodeType::kGpu;
  Route route;
  route.firstStep = static_cast<std::int32_t>(steps_.size());
  route.hops = static_cast<std::int16_t>(path.hops);
  route.type = path.type;
  route.reverseType = paths_.path(to, from).type;
  route.intra = system_.type(from) != NodeType::kNet && system_.type(to) != NodeType::kNet;
  route.bandwidth = path.bandwidth;
  bool intel = false;
  for (LinkId id : paths_.links(path)) {
    const Link& link = system_.link(id);
    steps_.push_back(step(link, id, fromGpu));
    route.takesReverse |= steps_.back().reverse != kNoLink;
    intel |=
        system_.type(link.to) == NodeType::kCpu && system_.cpu(link.to).is(CpuArch::kX86, CpuVendor::kIntel);
  }
  route.throughIntelCpu = path.type == PathType::kPhb && fromGpu && intel;
  routes_.push_back(route);
}

inline void SearchSpace::setFree(LinkId link, float bandwidth) {
  float& free = free_[static_cast<std::size_t>(link)];
  const std::uint64_t change =
      std::uint64_t{std::bit_cast<std::uint32_t>(bandwidth)} - std::bit_cast<std::uint32_t>(free);
  freeHash_ += change * weight_[static_cast<std::size_t>(link)];
  free = bandwidth;
}

// Takes link by link until one has not enough; returns how many gave.
std::size_t SearchSpace::take(const Route& route, float amount, float pciAmount) {
  const Step* steps = steps_.data() + route.firstStep;
  const auto count = static_cast<std::size_t>(route.hops);
  for (std::size_t i = 0; i < count; ++i) {
    const Step& s = steps[i];
    const float forward = s.pci ? pciAmount : amount;
    const float free = free_[static_cast<std::size_t>(s.link)];
    if (free < forward) return i;
    const float backward = s.reverse == kNoLink ? 0 : forward * s.reverseShare;
    if (backward != 0) {
      if (free_[static_cast<std::size_t>(s.reverse)] < backward) return i;
      setFree(s.reverse, roundMilli(free_[static_cast<std::size_t>(s.reverse)] - backward));
    }
    setFree(s.link, roundMilli(free - forward));
  }
  return count;
}

void SearchSpace::giveBack(const Route& route, std::size_t count, float amount, float pciAmount) {
  const Step* steps = steps_.data() + route.firstStep;
  for (std::size_t i = 0; i < count; ++i) {
    const Step& s = steps[i];
    const float forward = s.pci ? pciAmount : amount;
    setFree(s.link, roundMilli(free_[static_cast<std::size_t>(s.link)] + forward));
    const float backward = s.reverse == kNoLink ? 0 : forward * s.reverseShare;
    if (backward != 0) setFree(s.reverse, roundMilli(free_[static_cast<std::size_t>(s.reverse)] + backward));
  }
}

bool SearchSpace::follow(const Route& route, const Demand& demand, float share, bool symmetric) {
  const float amount = (route.intra ? demand.bwIntra : demand.bwInter) * std::fabs(share);
  const float pciAmount = route.throughIntelCpu ? amount * 6.0f / 5.0f : amount;
  if (share < 0) {
    giveBack(route, static_cast<std::size_t>(route.hops), amount, pciAmount);
    return true;
  }
  if (share == 1.0f) {
    const PathType limit = route.intra ? demand.typeIntra : demand.typeInter;
    if (route.type > limit || (symmetric && route.reverseType > limit)) return false;
  }
  const std::size_t taken = take(route, amount, pciAmount);
  if (taken == static_cast<std::size_t>(route.hops)) return true;
  giveBack(route, taken, amount, pciAmount);
  return false;
}

void SearchSpace::takeNetBandwidth(int net, float amount) {
  for (int other : portNets_[static_cast<std::size_t>(port_[static_cast<std::size_t>(net)])]) {
    float& free = netBandwidth_[static_cast<std::size_t>(other)];
    const std::uint32_t before = std::bit_cast<std::uint32_t>(free);
    free -= amount;
    freeHash_ += (std::uint64_t{std::bit_cast<std::uint32_t>(free)} - before) *
                 weight_[free_.size() + static_cast<std::size_t>(other)];
  }
}

int SearchSpace::freePciBandwidth(int gpu) const {
  const auto [out, back] = gpuPci_[static_cast<std::size_t>(gpu)];
  if (out == kNoLink) return -1;
  return static_cast<int>(
      std::min(free_[static_cast<std::size_t>(out)], free_[static_cast<std::size_t>(back)]));
}

void SearchSpace::rankGpus() {
  const auto count = static_cast<std::size_t>(gpuCount_);
  gpusByPath_.resize(count);
  pathKey_.resize(count * count);
  for (int a = 0; a < gpuCount_; ++a) {
    auto& ranked = gpusByPath_[static_cast<std::size_t>(a)];
    for (int i = 1; i < gpuCount_; ++i) {
      const int b = (a + i) % gpuCount_;
      const Route& route = gpuToGpu(a, b);
      if (route.hops == 0) continue;
      // Smaller is better: bandwidth descending, then hops ascending.
      const auto bandwidth = static_cast<std::uint32_t>(std::min(route.bandwidth, kMaxKeyBandwidth));
      pathKey_[at(a, gpuCount_, b)] = ((65535u - bandwidth) << 16) | static_cast<std::uint16_t>(route.hops);
      ranked.push_back(b);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](int x, int y) { return pathKey(a, x) < pathKey(a, y); });
    const NodeId node = system_.node(NodeType::kGpu, a);
    std::pair<LinkId, LinkId> pci{kNoLink, kNoLink};
    for (const Link& link : system_.links(node)) {
      if (link.type != LinkType::kPci) continue;
      const LinkId out = system_.findLink(node, link.to, LinkType::kPci);
      for (LinkId back = system_.firstLink(link.to); back < system_.firstLink(link.to + 1); ++back) {
        if (system_.link(back).to != node || pci.first != kNoLink) continue;
        pci = {out, back};
      }
      break;
    }
    gpuPci_.push_back(pci);
  }
}

void SearchSpace::rankNets() {
  std::map<std::pair<std::uint64_t, int>, int> ports;
  portNets_.resize(static_cast<std::size_t>(netCount_));
  for (int n = 0; n < netCount_; ++n) {
    const NodeId node = system_.node(NodeType::kNet, n);
    const Net& net = system_.net(node);
    netBandwidth_.push_back(net.bandwidth);
    port_.push_back(ports.emplace(std::pair{net.asic, net.port}, n).first->second);
    portNets_[static_cast<std::size_t>(port_.back())].push_back(n);
    const NodeId local = locality_.localGpu(node);
    localGpu_.push_back(local == kNoNode ? -1 : system_.position(local));

    float best = 0;
    int hops = std::numeric_limits<int>::max();
    for (int g = 0; g < gpuCount_; ++g) {
      const Route& route = netToGpu(n, g);
      const auto bandwidth = static_cast<std::uint64_t>(std::min(route.bandwidth, kMaxKeyBandwidth));
      netKey_.push_back(((65535 - bandwidth) << 32) + (std::uint64_t{65535} << 16) +
                        static_cast<std::uint16_t>(route.hops));
      if (route.bandwidth > best) {
        best = route.bandwidth;
        hops = route.hops;
      } else if (route.bandwidth == best && route.hops > 0 && route.hops < hops) {
        hops = route.hops;
      }
    }
    std::vector<int> nearest;
    for (int g = 0; g < gpuCount_; ++g)
      if (netToGpu(n, g).bandwidth == best && netToGpu(n, g).hops == hops) nearest.push_back(g);
    nearestGpus_.push_back(std::move(nearest));
    nearestBandwidth_.push_back(best);
  }
  const std::size_t lists = (static_cast<std::size_t>(gpuCount_) + 1) * kPathTypes;
  netsWithin_.resize(lists);
  netsWithinMade_.resize(lists);
}

std::span<const int> SearchSpace::netsWithin(int gpu, PathType type) {
  const std::size_t slot = at(gpu + 1, kPathTypes, static_cast<int>(type));
  std::vector<int>& list = netsWithin_[slot];
  if (netsWithinMade_[slot]) return list;
  netsWithinMade_[slot] = true;
  std::vector<bool> listed(static_cast<std::size_t>(netCount_), false);
  const auto append = [&](int net) {
    if (listed[static_cast<std::size_t>(net)]) return;
    listed[static_cast<std::size_t>(net)] = true;
    list.push_back(net);
  };
  const int first = gpu < 0 ? 0 : gpu;
  const int last = gpu < 0 ? gpuCount_ : gpu + 1;
  for (int g = first; g < last; ++g)
    for (NodeId net : locality_.localNets(system_.node(NodeType::kGpu, g))) append(system_.position(net));
  for (int t = 0; t <= static_cast<int>(type); ++t)
    for (int g = first; g < last; ++g)
      for (int net = 0; net < std::min(netCount_, kMaxNetsByDistance); ++net)
        if (gpuToNet(g, net).type == static_cast<PathType>(t)) append(net);
  return list;
}

}  // namespace xylem
