#include "planner/search/plain_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "planner/search/search.h"

namespace xylem::testing {
namespace {

float rounded(float x) { return std::round(x * 1000.0f) / 1000.0f; }

}  // namespace

PlainSearch::PlainSearch(const topology::System& system, const paths::PathTable& paths,
                         const paths::Locality& locality)
    : system_(system),
      paths_(paths),
      locality_(locality),
      gpus_(system.count(topology::NodeType::kGpu)),
      nets_(system.count(topology::NodeType::kNet)),
      used_(static_cast<std::size_t>(gpus_)) {
  for (const topology::Link& link : system.links()) linkBandwidth_.push_back(link.bandwidth);
  for (topology::NodeId id : system.nodes(topology::NodeType::kNet))
    netBandwidth_.push_back(system.net(id).bandwidth);
}

int& PlainSearch::order(int channel, int position) {
  return wanted_->gpus[static_cast<std::size_t>(channel * gpus_ + position)];
}

std::int64_t PlainSearch::run(search::ChannelGraph& wanted, search::ChannelGraph& best, std::int64_t budget) {
  wanted_ = &wanted;
  best_ = &best;
  wanted.nChannels = 0;
  channel(budget);
  return budget;
}

void PlainSearch::channel(Time& time) {
  const int c = wanted_->nChannels;
  if (nets_ > 0) return fromNets(time);
  if (wanted_->pattern == search::Pattern::kNvls) return start(topology::kNoNode, c, Order::kFree, time);
  c == 0 ? start(topology::kNoNode, 0, Order::kPci, time)
         : start(topology::kNoNode, order(c - 1, 0), Order::kReplay, time);
  if (!wanted_->sameChannels || c == 0)
    for (int g = 0; g < gpus_; ++g) start(topology::kNoNode, g, Order::kFree, time);
}

void PlainSearch::fromNets(Time& time) {
  const int c = wanted_->nChannels;
  const int demand = static_cast<int>(wanted_->bwInter);
  const bool heads =
      wanted_->pattern == search::Pattern::kNvls || wanted_->pattern == search::Pattern::kCollnetDirect;
  const std::vector<int> list = netList(-1);
  const auto count = static_cast<int>(list.size());
  bool found = false;
  for (int i = 0; i < count; ++i) {
    if (heads && found) return;
    const int n = list[static_cast<std::size_t>((c + i) % count)];
    const topology::Net& device = system_.net(net(n));
    if (wanted_->collNet && !device.coll) continue;
    if (netBandwidth_[static_cast<std::size_t>(n)] < static_cast<float>(demand)) continue;
    if (wanted_->pattern == search::Pattern::kRing && wanted_->crossNic == 2 && c % 2 == 1 &&
        n != wanted_->endNet(c - 1))
      continue;
    wanted_->nets[static_cast<std::size_t>(2 * c)] = n;
    wanted_->latencyInter = device.latency;
    const auto take = [&](int amount) {
      for (int other = 0; other < nets_; ++other) {
        const topology::Net& o = system_.net(net(other));
        if (o.asic == device.asic && o.port == device.port)
          netBandwidth_[static_cast<std::size_t>(other)] -= static_cast<float>(amount);
      }
    };
    take(demand);
    if (heads) {
      const topology::NodeId local = c < count ? locality_.localGpu(net(n)) : topology::kNoNode;
      bool fresh = local != topology::kNoNode;
      for (int other = 0; fresh && other < c; ++other) fresh = order(other, 0) != system_.position(local);
      if (fresh) {
        start(net(n), system_.position(local), Order::kFree, time);
        found = true;
      }
    } else {
      if (c > 0) start(net(n), order(c - 1, 0), Order::kReplay, time);
      if (c == 0 || !wanted_->sameChannels) {
        if (c == 0 && !system_.hasNvs()) {
          Time own = search::kSearchBudgetPciOrder;
          start(net(n), 0, Order::kPci, own);
          if (own == -1) time = -1;
        }
        float bandwidth = 0;
        int hops = 1 << 30;
        for (int g = 0; g < gpus_; ++g) {
          const paths::Path& path = paths_.path(net(n), gpu(g));
          if (path.bandwidth > bandwidth) {
            bandwidth = path.bandwidth;
            hops = path.hops;
          } else if (path.bandwidth == bandwidth && path.hops > 0 && path.hops < hops) {
            hops = path.hops;
          }
        }
        for (int j = 0; bandwidth >= static_cast<float>(demand) && j < gpus_; ++j) {
          const int g = (c + j) % gpus_;
          const paths::Path& path = paths_.path(net(n), gpu(g));
          if (path.bandwidth == bandwidth && path.hops == hops) start(net(n), g, Order::kFree, time);
        }
      }
    }
    take(-demand);
  }
}

void PlainSearch::start(topology::NodeId from, int g, Order order, Time& time) {
  const bool ring = wanted_->pattern == search::Pattern::kRing;
  const int backToNet = nets_ == 0                                        ? -1
                        : ring                                            ? gpus_ - 1
                        : wanted_->pattern == search::Pattern::kSplitTree ? 1
                                                                          : 0;
  const int backToFirst = nets_ == 0 && ring ? gpus_ - 1 : -1;
  if (from != topology::kNoNode && !follow(from, gpu(g), 1)) return;
  const std::uint64_t bit = std::uint64_t{1} << wanted_->nChannels;
  used_[static_cast<std::size_t>(g)] ^= bit;
  step(g, 0, backToNet, backToFirst, order, time);
  used_[static_cast<std::size_t>(g)] ^= bit;
  if (from != topology::kNoNode) follow(from, gpu(g), -1);
}

void PlainSearch::step(int g, int position, int backToNet, int backToFirst, Order how, Time& time) {
  if (time <= 0) return;
  --time;
  ++steps_;
  if (position == gpus_) return complete(time);
  const int c = wanted_->nChannels;
  order(c, position) = g;
  if (position == backToNet) return toNet(g, position, backToFirst, how, time);
  if (wanted_->pattern == search::Pattern::kNvls) return nvls(g, time);
  if (wanted_->pattern == search::Pattern::kCollnetDirect) return collnetDirect(g, time);
  if (position < gpus_ - 1) {
    std::vector<int> next;
    if (how == Order::kPci) next = {position + 1};
    if (how == Order::kReplay) next = {order(c - 1, position + 1)};
    if (how == Order::kFree) next = nextGpus(g, position, backToNet);
    const std::uint64_t bit = std::uint64_t{1} << c;
    for (int n : next) {
      if (!follow(gpu(g), gpu(n), 1)) continue;
      used_[static_cast<std::size_t>(n)] ^= bit;
      step(n, position + 1, backToNet, backToFirst, how, time);
      used_[static_cast<std::size_t>(n)] ^= bit;
      follow(gpu(g), gpu(n), -1);
    }
  } else if (position == backToFirst) {
    const int first = order(c, 0);
    if (!follow(gpu(g), gpu(first), 1)) return;
    step(first, position + 1, backToNet, -1, how, time);
    follow(gpu(g), gpu(first), -1);
  } else {
    step(g, gpus_, -1, -1, how, time);
  }
}

void PlainSearch::complete(Time& time) {
  ++wanted_->nChannels;
  if (better()) {
    *best_ = *wanted_;
    if (wanted_->nChannels == wanted_->maxChannels) time = -1;
  }
  if (wanted_->nChannels < wanted_->maxChannels) channel(time);
  --wanted_->nChannels;
}

bool PlainSearch::better() const {
  const search::ChannelGraph& c = *wanted_;
  const search::ChannelGraph& b = *best_;
  const auto product = [](int n, float bandwidth) { return static_cast<float>(n) * bandwidth; };
  if (c.nChannels < c.minChannels) return false;
  if (c.pattern == search::Pattern::kNvls)
    return (c.nChannels > b.nChannels && c.nChannels <= gpus_) ||
           product(c.nChannels, c.bwInter) > product(b.nChannels, b.bwInter);
  const float mine = product(c.nChannels, c.bwIntra);
  const float theirs = product(b.nChannels, b.bwIntra);
  return mine > theirs ||
         (mine == theirs && c.pattern == b.pattern && c.crossNic == b.crossNic && c.nHops < b.nHops);
}

void PlainSearch::toNet(int g, int position, int backToFirst, Order how, Time& time) {
  const int c = wanted_->nChannels;
  const search::Pattern pattern = wanted_->pattern;
  const int first = wanted_->startNet(c);
  for (int n : netList(g)) {
    const topology::Net& a = system_.net(net(n));
    const topology::Net& b = system_.net(net(first));
    if (pattern == search::Pattern::kTree && n != first) continue;
    if (pattern == search::Pattern::kRing && wanted_->crossNic == 2) {
      if (c % 2 == 1 && n != wanted_->startNet(c - 1)) continue;
    } else if (wanted_->crossNic == 0 && (a.asic != b.asic || a.port != b.port)) {
      continue;
    }
    int backToNet = -1;
    if (pattern == search::Pattern::kBalancedTree) {
      if (position == 0)
        backToNet = 1;
      else if (n != wanted_->endNet(c))
        continue;
      wanted_->bwInter /= 2;
    }
    bool taken = follow(gpu(g), net(n), 1);
    if (pattern == search::Pattern::kBalancedTree) wanted_->bwInter *= 2;
    if (!taken) continue;
    wanted_->nets[static_cast<std::size_t>(2 * c + 1)] = n;
    step(g, position, backToNet, backToFirst, how, time);
    if (pattern == search::Pattern::kBalancedTree) wanted_->bwInter /= 2;
    follow(gpu(g), net(n), -1);
    if (pattern == search::Pattern::kBalancedTree) wanted_->bwInter *= 2;
  }
}

void PlainSearch::nvls(int head, Time& time) {
  const topology::NodeId nvs = system_.node(topology::NodeType::kNvs, 0);
  const auto times = [&](int g) { return g == head ? 2.0f : 1.0f; };
  int down = 0;
  int up = 0;
  while (down < gpus_ && follow(nvs, gpu(down), times(down))) ++down;
  while (down == gpus_ && up < gpus_ && follow(gpu(up), nvs, times(up))) ++up;
  if (up == gpus_) step(head, gpus_, -1, -1, Order::kFree, time);
  while (up > 0) --up, follow(gpu(up), nvs, -times(up));
  while (down > 0) --down, follow(nvs, gpu(down), -times(down));
}

void PlainSearch::collnetDirect(int head, Time& time) {
  const auto part = static_cast<float>(1.0 / (gpus_ - 1));
  int out = 0;
  int in = 0;
  while (out < gpus_ && follow(gpu(head), gpu(out), part)) ++out;
  while (out == gpus_ && in < gpus_ && follow(gpu(in), gpu(head), part)) ++in;
  if (in == gpus_) {
    for (int g = 0, position = 0; g < gpus_; ++g)
      if (g != head) order(wanted_->nChannels, ++position) = g;
    step(head, gpus_, -1, -1, Order::kFree, time);
  }
  while (in > 0) --in, follow(gpu(in), gpu(head), -part);
  while (out > 0) --out, follow(gpu(head), gpu(out), -part);
}

std::vector<int> PlainSearch::nextGpus(int g, int position, int backToNet) const {
  const int mode = backToNet == -1 ? 0 : backToNet == position + 1 ? 1 : -1;
  struct Candidate {
    std::tuple<int, int, int, int, int, int> key;
    int gpu;
  };
  std::vector<Candidate> list;
  for (int i = 1; i < gpus_; ++i) {
    const int n = (g + i) % gpus_;
    const paths::Path& path = paths_.path(gpu(g), gpu(n));
    if (path.hops == 0 || (used_[static_cast<std::size_t>(n)] >> wanted_->nChannels & 1u) != 0) continue;
    int netBandwidth = 0, pciBandwidth = 0, netHops = 0;
    if (mode != 0) {
      const paths::Path& way = paths_.path(net(wanted_->startNet(wanted_->nChannels)), gpu(n));
      netBandwidth = static_cast<int>(way.bandwidth);
      netHops = way.hops;
      pciBandwidth = -1;
      for (topology::LinkId out = system_.firstLink(gpu(n)); out < system_.firstLink(gpu(n) + 1); ++out) {
        if (system_.link(out).type != topology::LinkType::kPci) continue;
        topology::LinkId back = system_.firstLink(system_.link(out).to);
        while (system_.link(back).to != gpu(n)) ++back;
        pciBandwidth = static_cast<int>(std::min(linkBandwidth_[static_cast<std::size_t>(out)],
                                                 linkBandwidth_[static_cast<std::size_t>(back)]));
        break;
      }
    }
    list.push_back(
        {{-netBandwidth, -pciBandwidth, netHops, -static_cast<int>(path.bandwidth), path.hops, i}, n});
  }
  std::sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  const auto alike = [&](const Candidate& x) {
    return std::get<3>(x.key) == std::get<3>(list[0].key) && std::get<4>(x.key) == std::get<4>(list[0].key);
  };
  if (mode == -1 && std::all_of(list.begin(), list.end(), alike)) std::reverse(list.begin(), list.end());
  std::vector<int> result;
  for (const Candidate& candidate : list) result.push_back(candidate.gpu);
  if (!system_.hasNvs()) return result;
  const int before = (g + gpus_ - 1) % gpus_;
  const int after = (g + 1) % gpus_;
  std::vector<int> toFront = {after};
  if (wanted_->pattern == search::Pattern::kRing) toFront = {after, before};
  if (wanted_->pattern == search::Pattern::kBalancedTree || wanted_->pattern == search::Pattern::kSplitTree)
    toFront = {before, after};
  if (before == after) toFront = {after};
  std::vector<int> kept;
  for (int n : toFront)
    if (std::find(result.begin(), result.end(), n) != result.end()) kept.insert(kept.begin(), n);
  return kept;
}

std::vector<int> PlainSearch::netList(int g) const {
  std::vector<int> list;
  const auto append = [&](int n) {
    if (std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
  };
  const int from = g < 0 ? 0 : g;
  const int to = g < 0 ? gpus_ : g + 1;
  for (int i = from; i < to; ++i) {
    for (int c = 0; c < 64; ++c) {
      const topology::NodeId local = locality_.localNet(gpu(i), c);
      if (c > 0 && local == locality_.localNet(gpu(i), 0)) break;
      append(system_.position(local));
    }
  }
  for (int t = 0; t <= static_cast<int>(wanted_->typeInter); ++t)
    for (int i = from; i < to; ++i)
      for (int n = 0; n < std::min(nets_, 64); ++n)
        if (paths_.path(gpu(i), net(n)).type == static_cast<paths::PathType>(t)) append(n);
  return list;
}

bool PlainSearch::follow(topology::NodeId from, topology::NodeId to, float times) {
  const paths::Path& path = paths_.path(from, to);
  const auto inside = [&](topology::NodeId id) {
    return system_.type(id) == topology::NodeType::kGpu || system_.type(id) == topology::NodeType::kNvs;
  };
  const bool intra = inside(from) && inside(to);
  const paths::PathType limit = intra ? wanted_->typeIntra : wanted_->typeInter;
  const bool tree = wanted_->pattern == search::Pattern::kBalancedTree ||
                    wanted_->pattern == search::Pattern::kTree ||
                    wanted_->pattern == search::Pattern::kSplitTree;
  if (times == 1 && (path.type > limit || (tree && paths_.path(to, from).type > limit))) return false;
  const float amount = (intra ? wanted_->bwIntra : wanted_->bwInter) * times;
  float pciAmount = amount;
  if (path.type == paths::PathType::kPhb && system_.type(from) == topology::NodeType::kGpu)
    for (topology::LinkId id : paths_.links(path)) {
      const topology::NodeId node = system_.link(id).to;
      if (system_.type(node) != topology::NodeType::kCpu ||
          !system_.cpu(node).is(topology::CpuArch::kX86, topology::CpuVendor::kIntel))
        continue;
      pciAmount = amount * 6 / 5;
      break;
    }
  if (!takeLinks(from, to, amount, pciAmount, static_cast<std::size_t>(path.hops))) return false;
  wanted_->nHops =
      static_cast<int>(static_cast<float>(wanted_->nHops) + times * static_cast<float>(path.hops));
  return true;
}

bool PlainSearch::takeLinks(topology::NodeId from, topology::NodeId to, float amount, float pciAmount,
                            std::size_t count) {
  const auto links = paths_.links(from, to);
  for (std::size_t i = 0; i < count; ++i) {
    const topology::Link& link = system_.link(links[i]);
    const float forward = link.type == topology::LinkType::kPci ? pciAmount : amount;
    float backward = 0;
    if (system_.type(link.to) == topology::NodeType::kGpu && system_.gpu(link.to).sm < 80 &&
        system_.type(from) != topology::NodeType::kGpu)
      backward += forward / 8;
    if (system_.type(link.to) == topology::NodeType::kCpu &&
        system_.cpu(link.to).arch == topology::CpuArch::kPower && link.type == topology::LinkType::kNvl)
      backward += forward;
    float& there = linkBandwidth_[static_cast<std::size_t>(links[i])];
    float* back = nullptr;
    if (backward != 0)
      back = &linkBandwidth_[static_cast<std::size_t>(system_.findLink(link.to, link.from, link.type))];
    if (there < forward || (back != nullptr && *back < backward)) {
      takeLinks(from, to, -amount, -pciAmount, i);
      return false;
    }
    there = rounded(there - forward);
    if (back != nullptr) *back = rounded(*back - backward);
  }
  return true;
}

}  // namespace xylem::testing
