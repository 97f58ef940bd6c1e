#include "channels/search.h"

#include <algorithm>

namespace xylem {

Search::Search(SearchSpace& space, ChannelGraph& wanted, ChannelGraph& best, Explored& explored)
    : space_(space),
      wanted_(wanted),
      best_(best),
      intra_(wanted.bwIntra),
      inter_(wanted.bwInter),
      interHalf_(wanted.bwInter / 2),
      symmetric_(wanted.pattern == Pattern::kBalancedTree || wanted.pattern == Pattern::kSplitTree ||
                 wanted.pattern == Pattern::kTree),
      gpus_(space.gpuCount()),
      nets_(space.netCount()),
      used_(static_cast<std::size_t>(gpus_)),
      explored_(explored),
      // The heads of NVLS and CollNet channels depend on all channels before, not only on the last.
      remembers_(wanted.pattern != Pattern::kNvls && wanted.pattern != Pattern::kCollnetDirect) {
  explored.clear();
  if (nets_ > 0) {
    backToNet_ = wanted.pattern == Pattern::kRing ? gpus_ - 1 : wanted.pattern == Pattern::kSplitTree ? 1 : 0;
  } else if (wanted.pattern == Pattern::kRing) {
    backToFirst_ = gpus_ - 1;
  }
}

std::int64_t Search::run(std::int64_t budget) {
  wanted_.nChannels = 0;
  std::int64_t time = budget;
  nextChannel(time);
  return time;
}

int& Search::gpuAt(int channel, int position) {
  return wanted_.gpus[static_cast<std::size_t>(channel) * static_cast<std::size_t>(gpus_) +
                      static_cast<std::size_t>(position)];
}

// Trees send both ways, so they look at the way back as well.
bool Search::allows(const Route& route) const {
  const PathType limit = route.intra ? wanted_.typeIntra : wanted_.typeInter;
  return route.type <= limit && (!symmetric_ || route.reverseType <= limit);
}

bool Search::take(const Route& route, const Load& load) {
  if (!allows(route) || !space_.take(route, load)) return false;
  wanted_.nHops += route.hops;
  return true;
}

void Search::giveBack(const Route& route, const Load& load) {
  space_.giveBack(route, load);
  wanted_.nHops -= route.hops;
}

// All that the search for further channels depends on. The order of the last channel is replayed.
std::uint64_t Search::channelState() const {
  const int channel = wanted_.nChannels;
  std::uint64_t hash = mixHash(space_.freeHash(), static_cast<std::uint64_t>(channel));
  hash = mixHash(hash, static_cast<std::uint64_t>(wanted_.nHops));
  for (int i = 0; i < gpus_; ++i)
    hash = mixHash(hash, static_cast<std::uint64_t>(wanted_.gpu(channel - 1, i)));
  hash = mixHash(hash, static_cast<std::uint64_t>(wanted_.startNet(channel - 1)));
  return mixHash(hash, static_cast<std::uint64_t>(wanted_.endNet(channel - 1)));
}

void Search::nextChannel(std::int64_t& time) {
  if (!remembers_ || wanted_.nChannels == 0 || time <= 0) return exploreChannel(time);
  const std::uint64_t state = channelState();
  if (const Explored::Entry* known = explored_.find(state)) {
    wanted_.latencyInter = known->latency;
    return spend(known->steps, time);
  }
  const std::int64_t before = time;
  const std::int64_t records = records_;
  exploreChannel(time);
  // Only what was explored to the end, found nothing and left everything as it was, down to the rounding of
  // bandwidths.
  if (time > 0 && records == records_ && state == channelState())
    explored_.add(state, before - time, wanted_.latencyInter);
}

void Search::exploreChannel(std::int64_t& time) {
  if (nets_ > 0) return startFromNets(time);
  if (wanted_.pattern == Pattern::kNvls) return startAt(kNowhere, wanted_.nChannels, Order::kFree, time);
  if (wanted_.nChannels == 0)
    startAt(kNowhere, 0, Order::kPci, time);
  else
    startAt(kNowhere, gpuAt(wanted_.nChannels - 1, 0), Order::kReplay, time);
  if (!wanted_.sameChannels || wanted_.nChannels == 0)
    for (int gpu = 0; gpu < gpus_; ++gpu) startAt(kNowhere, gpu, Order::kFree, time);
}

void Search::startFromNets(std::int64_t& time) {
  const int demand = static_cast<int>(wanted_.bwInter);
  const auto nets = space_.netsWithin(-1, wanted_.typeInter);
  const auto count = static_cast<int>(nets.size());
  const bool headsOnly = wanted_.pattern == Pattern::kNvls || wanted_.pattern == Pattern::kCollnetDirect;
  const int channel = wanted_.nChannels;
  bool found = false;
  for (int i = 0; i < count; ++i) {
    if (headsOnly && found) return;
    const int net = nets[static_cast<std::size_t>((channel + i) % count)];
    const Net& device = space_.system().net(space_.system().node(NodeType::kNet, net));
    if (wanted_.collNet && !device.coll) continue;
    if (space_.netBandwidth(net) < static_cast<float>(demand)) continue;
    // With rings that cross NICs an odd channel starts where the one before it ended.
    if (wanted_.pattern == Pattern::kRing && wanted_.crossNic == 2 && (channel & 1) != 0 &&
        net != wanted_.endNet(channel - 1))
      continue;
    wanted_.nets[2 * static_cast<std::size_t>(channel)] = net;
    wanted_.latencyInter = device.latency;
    space_.takeNetBandwidth(net, static_cast<float>(demand));
    if (!headsOnly) {
      startTreeOrRing(net, demand, time);
    } else if (channel < count) {
      startFromHead(net, time, found);
    }
    space_.takeNetBandwidth(net, -static_cast<float>(demand));
  }
}

void Search::startFromHead(int net, std::int64_t& time, bool& found) {
  const int head = space_.localGpu(net);
  if (head < 0) return;
  for (int c = 0; c < wanted_.nChannels; ++c)
    if (gpuAt(c, 0) == head) return;
  startAt(net, head, Order::kFree, time);
  found = true;
}

void Search::startTreeOrRing(int net, int demand, std::int64_t& time) {
  const int channel = wanted_.nChannels;
  if (channel > 0) startAt(net, gpuAt(channel - 1, 0), Order::kReplay, time);
  if (channel > 0 && wanted_.sameChannels) return;
  if (channel == 0 && !space_.hasNvs()) {
    std::int64_t own = kSearchBudgetPciOrder;
    startAt(net, 0, Order::kPci, own);
    if (own == kPerfect) time = kPerfect;
  }
  if (space_.nearestBandwidth(net) < static_cast<float>(demand)) return;
  // The nearest GPUs, starting from the one with the channel's number.
  const auto nearest = space_.gpusNearest(net);
  const auto start = std::lower_bound(nearest.begin(), nearest.end(), channel % gpus_) - nearest.begin();
  for (std::size_t i = 0; i < nearest.size(); ++i)
    startAt(net, nearest[(static_cast<std::size_t>(start) + i) % nearest.size()], Order::kFree, time);
}

void Search::startAt(int net, int gpu, Order order, std::int64_t& time) {
  if (net != kNowhere) return visit(space_.netToGpu(net, gpu), gpu, 0, backToNet_, backToFirst_, order, time);
  toggle(gpu);
  step(gpu, 0, backToNet_, backToFirst_, order, time);
  toggle(gpu);
}

void Search::visit(const Route& route, int gpu, int position, int backToNet, int backToFirst, Order order,
                   std::int64_t& time) {
  if (!take(route, loadOf(route))) return;
  toggle(gpu);
  step(gpu, position, backToNet, backToFirst, order, time);
  toggle(gpu);
  giveBack(route, loadOf(route));
}

void Search::step(int gpu, int position, int backToNet, int backToFirst, Order order, std::int64_t& time) {
  if (time <= 0) return;
  --time;
  ++steps_;
  if (position == gpus_) return completeChannel(time);
  gpuAt(wanted_.nChannels, position) = gpu;
  if (position == backToNet) return leaveToNet(gpu, position, backToFirst, order, time);
  if (wanted_.pattern == Pattern::kNvls) return tryNvls(gpu, time);
  if (wanted_.pattern == Pattern::kCollnetDirect) return tryCollnetDirect(gpu, time);
  if (order != Order::kFree || position >= gpus_ - 2 || time == 0)
    return exploreStep(gpu, position, backToNet, backToFirst, order, time);
  const std::uint64_t state = stepState(gpu, position, backToNet, backToFirst);
  if (const Explored::Entry* known = explored_.find(state)) return spend(known->steps, time);
  const std::int64_t before = time;
  const std::int64_t completed = completed_;
  exploreStep(gpu, position, backToNet, backToFirst, order, time);
  // Completed channels would make the order so far matter to what comes after them.
  if (time > 0 && completed == completed_ && state == stepState(gpu, position, backToNet, backToFirst))
    explored_.add(state, before - time, wanted_.latencyInter);
}

// All that the rest of a channel depends on, as long as it is not completed: which GPUs are used, not in
// which order.
std::uint64_t Search::stepState(int gpu, int position, int backToNet, int backToFirst) const {
  const auto channel = static_cast<std::size_t>(wanted_.nChannels);
  const auto at = [](int a, int b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
  };
  std::uint64_t hash = mixHash(space_.freeHash(), usedHash_[channel]);
  hash = mixHash(hash, at(gpu, position));
  hash = mixHash(hash, at(backToNet, static_cast<int>(channel)));
  if (backToFirst >= 0) hash = mixHash(hash, static_cast<std::uint64_t>(wanted_.gpu(wanted_.nChannels, 0)));
  if (nets_ == 0) return hash;
  hash = mixHash(hash, at(wanted_.startNet(wanted_.nChannels),
                          channel == 0 ? -1 : wanted_.startNet(wanted_.nChannels - 1)));
  if (wanted_.pattern != Pattern::kRing)
    hash = mixHash(hash, static_cast<std::uint64_t>(wanted_.endNet(wanted_.nChannels)));
  return hash;
}

void Search::spend(std::int64_t steps, std::int64_t& time) {
  steps = std::min(steps, time);
  time -= steps;
  steps_ += steps;
}

void Search::exploreStep(int gpu, int position, int backToNet, int backToFirst, Order order,
                         std::int64_t& time) {
  if (position < gpus_ - 1) return tryNext(gpu, position, backToNet, backToFirst, order, time);
  if (position == backToFirst) {
    const int first = gpuAt(wanted_.nChannels, 0);
    const Route& route = space_.gpuToGpu(gpu, first);
    if (!take(route, intra_)) return;
    step(first, position + 1, backToNet, -1, order, time);
    giveBack(route, intra_);
    return;
  }
  step(gpu, gpus_, -1, -1, order, time);
}

void Search::completeChannel(std::int64_t& time) {
  ++completed_;
  ++wanted_.nChannels;
  if (isBetter()) record(time);
  if (wanted_.nChannels < wanted_.maxChannels) nextChannel(time);
  --wanted_.nChannels;
}

bool Search::isBetter() const {
  const ChannelGraph& c = wanted_;
  const ChannelGraph& b = best_;
  if (c.nChannels < c.minChannels) return false;
  if (c.pattern == Pattern::kNvls)
    return (c.nChannels > b.nChannels && c.nChannels <= gpus_) ||
           static_cast<float>(c.nChannels) * c.bwInter > static_cast<float>(b.nChannels) * b.bwInter;
  const float mine = static_cast<float>(c.nChannels) * c.bwIntra;
  const float theirs = static_cast<float>(b.nChannels) * b.bwIntra;
  if (mine != theirs) return mine > theirs;
  return c.pattern == b.pattern && c.crossNic == b.crossNic && c.nHops < b.nHops;
}

void Search::record(std::int64_t& time) {
  best_ = wanted_;
  ++records_;
  if (wanted_.nChannels == wanted_.maxChannels) time = kPerfect;
}

// Whether the channel being built may end at this NET.
bool Search::mayEndAt(int net, int position) const {
  const int channel = wanted_.nChannels;
  const int start = wanted_.startNet(channel);
  if (wanted_.pattern == Pattern::kTree && net != start) return false;
  if (wanted_.pattern == Pattern::kRing && wanted_.crossNic == 2) {
    if ((channel & 1) != 0 && net != wanted_.startNet(channel - 1)) return false;
  } else if (wanted_.crossNic == 0 && !space_.samePort(net, start)) {
    return false;
  }
  return wanted_.pattern != Pattern::kBalancedTree || position == 0 || net == wanted_.endNet(channel);
}

void Search::leaveToNet(int gpu, int position, int backToFirst, Order order, std::int64_t& time) {
  // A balanced tree leaves from its first two GPUs, half of the traffic each.
  const bool balanced = wanted_.pattern == Pattern::kBalancedTree;
  const int backToNet = balanced && position == 0 ? 1 : -1;
  const Load& load = balanced ? interHalf_ : inter_;
  for (int net : space_.netsWithin(gpu, wanted_.typeInter)) {
    const Route& route = space_.gpuToNet(gpu, net);
    if (!mayEndAt(net, position) || !take(route, load)) continue;
    wanted_.nets[2 * static_cast<std::size_t>(wanted_.nChannels) + 1] = net;
    step(gpu, position, backToNet, backToFirst, order, time);
    giveBack(route, load);
  }
}

void Search::tryNext(int gpu, int position, int backToNet, int backToFirst, Order order, std::int64_t& time) {
  const std::size_t begin = candidatesEnd_;
  if (candidates_.size() < begin + static_cast<std::size_t>(gpus_))
    candidates_.resize(2 * begin + static_cast<std::size_t>(gpus_));
  switch (order) {
    case Order::kPci:
      append(position + 1);
      break;
    case Order::kReplay:
      append(gpuAt(wanted_.nChannels - 1, position + 1));
      break;
    case Order::kFree:
      appendCandidates(gpu, backToNet, position);
      break;
  }
  const std::size_t end = candidatesEnd_;
  for (std::size_t i = begin; i < end; ++i) {
    const int next = candidates_[i];
    visit(space_.gpuToGpu(gpu, next), next, position + 1, backToNet, backToFirst, order, time);
  }
  candidatesEnd_ = begin;
}

void Search::appendCandidates(int gpu, int backToNet, int position) {
  // Behind an NVSwitch all GPUs are alike: only the neighbours by index are tried.
  if (space_.hasNvs()) return appendRingNeighbours(gpu);
  const std::size_t begin = candidatesEnd_;
  for (int next : space_.gpusByPath(gpu))
    if (!used(next)) append(next);
  if (backToNet == -1 || candidatesEnd_ == begin) return;
  rankByNet(begin);
  if (backToNet == position + 1) return;
  // The next GPU does not leave to the NET: if all are alike from here, the worst goes first, to keep the
  // best for the one that does.
  const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(candidatesEnd_);
  const std::uint32_t key = space_.pathKey(gpu, *first);
  if (std::all_of(first, end, [&](int next) { return space_.pathKey(gpu, next) == key; }))
    std::reverse(first, end);
}

// Ranks the candidates from `begin` on by the way from the NET their channel starts at: bandwidth, free PCI
// bandwidth, hops. Equal ones keep their order. Insertion sort: there are few, and they are often in order
// already.
void Search::rankByNet(std::size_t begin) {
  const int net = wanted_.startNet(wanted_.nChannels);
  keys_.resize(static_cast<std::size_t>(gpus_));
  for (std::size_t i = begin; i < candidatesEnd_; ++i) {
    const int gpu = candidates_[i];
    const std::uint64_t key =
        space_.netKey(net, gpu) - (static_cast<std::uint64_t>(space_.freePciBandwidth(gpu) + 1) << 16);
    std::size_t slot = i - begin;
    for (; slot > 0 && keys_[slot - 1] > key; --slot) {
      keys_[slot] = keys_[slot - 1];
      candidates_[begin + slot] = candidates_[begin + slot - 1];
    }
    keys_[slot] = key;
    candidates_[begin + slot] = gpu;
  }
}

void Search::appendRingNeighbours(int gpu) {
  const int previous = (gpu + gpus_ - 1) % gpus_;
  const int next = (gpu + 1) % gpus_;
  const auto consider = [&](int neighbour) {
    if (space_.gpuToGpu(gpu, neighbour).hops > 0 && !used(neighbour)) append(neighbour);
  };
  switch (wanted_.pattern) {
    case Pattern::kRing:
      consider(previous);
      if (next != previous) consider(next);
      break;
    case Pattern::kSplitTree:
    case Pattern::kBalancedTree:
      consider(next);
      if (next != previous) consider(previous);
      break;
    default:
      consider(next);
  }
}

// Every GPU exchanges with the NVSwitch, the head twice: for itself and for the NET. Only the single share is
// checked for the type of its path, as in NCCL.
void Search::tryNvls(int head, std::int64_t& time) {
  const Load doubled(wanted_.bwIntra * 2);
  const auto takeShare = [&](const Route& route, int gpu) {
    if (gpu != head) return take(route, intra_);
    if (!space_.take(route, doubled)) return false;
    wanted_.nHops += 2 * route.hops;
    return true;
  };
  const auto giveBackShare = [&](const Route& route, int gpu) {
    giveBack(route, gpu == head ? doubled : intra_);
    if (gpu == head) wanted_.nHops -= route.hops;
  };
  int down = 0;
  while (down < gpus_ && takeShare(space_.nvsToGpu(down), down)) ++down;
  int up = 0;
  if (down == gpus_) {
    while (up < gpus_ && takeShare(space_.gpuToNvs(up), up)) ++up;
    if (up == gpus_) step(head, gpus_, -1, -1, Order::kFree, time);
  }
  while (up > 0) --up, giveBackShare(space_.gpuToNvs(up), up);
  while (down > 0) --down, giveBackShare(space_.nvsToGpu(down), down);
}

// The head exchanges with every other GPU, each its part of the bandwidth. Shares are not checked for path
// types.
void Search::tryCollnetDirect(int head, std::int64_t& time) {
  const auto share = static_cast<float>(1.0 / (gpus_ - 1));
  const Load part(wanted_.bwIntra * share);
  // NCCL truncates the running count of hops at every step.
  const auto count = [&](const Route& route, float sign) {
    wanted_.nHops =
        static_cast<int>(static_cast<float>(wanted_.nHops) + sign * share * static_cast<float>(route.hops));
  };
  const auto takePart = [&](const Route& route) {
    if (!space_.take(route, part)) return false;
    count(route, 1);
    return true;
  };
  const auto giveBackPart = [&](const Route& route) {
    space_.giveBack(route, part);
    count(route, -1);
  };
  int out = 0;
  while (out < gpus_ && takePart(space_.gpuToGpu(head, out))) ++out;
  int in = 0;
  if (out == gpus_) {
    while (in < gpus_ && takePart(space_.gpuToGpu(in, head))) ++in;
    if (in == gpus_) {
      int position = 0;
      for (int gpu = 0; gpu < gpus_; ++gpu)
        if (gpu != head) gpuAt(wanted_.nChannels, ++position) = gpu;
      step(head, gpus_, -1, -1, Order::kFree, time);
    }
  }
  while (in > 0) --in, giveBackPart(space_.gpuToGpu(in, head));
  while (out > 0) --out, giveBackPart(space_.gpuToGpu(head, out));
}

}  // namespace xylem
