// The recursive search for channels, as NCCL makes it.
//
// A channel is an order of all GPUs of the host, with a NET at both ends if the job has several hosts. The
// search builds one channel after the other, depth first:
//
//   nextChannel        tries each NET with enough bandwidth as the start of the channel, and
//   startAt            each GPU near that NET as its first, in up to three orders (Order);
//   step               goes on to each GPU that is left, or, where the pattern says so, out to a NET and
//                      back to the first GPU;
//   completeChannel    keeps the channels if they are better than the best graph, and calls nextChannel.
//
// A channel takes its bandwidth from the links of every route it follows, and gives it back when everything
// behind the route has been tried (follow). A route without enough bandwidth is not followed.
//
// Each entry of step() is a step of the budget. Most searches end because the budget does, so the result
// depends on the order in which NETs and GPUs are tried, on the number of steps and on how bandwidths are
// rounded: all three are NCCL's.
//
// Three hooks make it fast, where exact_ allows it; search_shortcuts.cc explains them:
//   exploreOnce()   charges the steps of an exploration that was made before in an equal state
//   pointless()     prunes routes that would be taken and given back without a step in between
//   countOrders()   counts the steps of all orders of the GPUs that are left, where no channel can follow

#include "planner/search/search.h"

#include <algorithm>

namespace xylem::search {
namespace {

// From so near the end of a channel, exploring costs less than remembering.
constexpr int kTooFewToRemember = 8;

}  // namespace

Search::Search(SearchSpace& space, const UsableRoutes& routes, const LinkCapacity& capacity,
               const ChannelLoads& loads, ChannelGraph& wanted, ChannelGraph& best,
               SearchWorkspace& workspace)
    : space_(space),
      routes_(routes),
      capacity_(capacity),
      loads_(loads),
      intra_(loads.of(Portion::kIntra)),
      inter_(loads.of(Portion::kInter)),
      wanted_(wanted),
      best_(best),
      workspace_(workspace),
      gpus_(space.gpuCount()),
      nets_(space.netCount()),
      demand_(static_cast<int>(wanted.bwInter)),
      heads_(wanted.pattern == Pattern::kNvls || wanted.pattern == Pattern::kCollnetDirect),
      replaysOrStartsLocal_(space.system().rules().searchStart == rules::SearchStart::kReplayOrLocal),
      rails_(space.system().rules().rails || space.system().rules().railsByHost),
      noRouteIfApart_(space.system().rules().noRouteIfApart),
      exact_(capacity.exact()),
      // A ring leaves to the NET from its last GPU, when all have been ranked.
      keepsRanks_(nets_ > 0 && !space.hasNvs() && exact_ && wanted.pattern == Pattern::kRing &&
                  routes.sparesPciLinks()) {
  const std::size_t rows = static_cast<std::size_t>(paths::kMaxChannels) * static_cast<std::size_t>(gpus_);
  workspace.memo.clear();
  workspace.used.resize(rows);
  workspace.netRanks.resize(rows);
  workspace.trails.resize(rows);
  if (nets_ > 0) {
    backToNet_ = wanted.pattern == Pattern::kRing ? gpus_ - 1 : wanted.pattern == Pattern::kSplitTree ? 1 : 0;
  } else if (wanted.pattern == Pattern::kRing) {
    backToFirst_ = gpus_ - 1;
  }
}

SearchOutcome Search::run(std::int64_t budget) {
  wanted_.nChannels = 0;
  const int hops = wanted_.nHops;
  progress_.left = budget;
  nextChannel();
  return {progress_.steps, progress_.left, progress_.score.plusHops(-hops),
          progress_.left > 0 && !progress_.cut};
}

template <typename Explore>
void Search::follow(const Route& route, const Load& load, const Explore& explore, bool fits) {
  if (pointless()) return;
  if (fits)
    space_.takeFree(route, load);
  else if (!routes_.usable(route) || !space_.take(route, load))
    return;
  wanted_.nHops += route.hops;
  explore();
  wanted_.nHops -= route.hops;
  space_.giveBack(route, load);
}

void Search::nextChannel() {
  const int channel = wanted_.nChannels;
  if (channel == 0 || !exact_) return startChannel();
  capacityBefore_[static_cast<std::size_t>(channel)] = capacity_.hash();
  exploreOnce(channelKey(), true, [this] { startChannel(); });
}

void Search::startChannel() {
  const int channel = wanted_.nChannels;
  if (nets_ > 0) return startFromNets();
  if (wanted_.pattern == Pattern::kNvls) return startAt(kNowhere, channel, Order::kFree);
  if (channel == 0)
    startAt(kNowhere, 0, Order::kPci);
  else
    startAt(kNowhere, gpuAt(channel - 1, 0), Order::kReplay);
  if (!wanted_.sameChannels || channel == 0) startFree(kNowhere);
}

// The first channel begins with the first NET, the second with the second, and so on.
void Search::startFromNets() {
  const auto nets = space_.netsWithin(-1, wanted_.typeInter);
  const auto count = static_cast<int>(nets.size());
  const int channel = wanted_.nChannels;
  bool found = false;
  for (int i = 0; i < count; ++i) {
    if (heads_ && found) return;
    const int net = nets[static_cast<std::size_t>((channel + i) % count)];
    const topology::Net& device = space_.system().net(space_.system().node(topology::NodeType::kNet, net));
    if (wanted_.collNet && !device.coll) continue;
    if (space_.netBandwidth(net) < static_cast<float>(demand_)) continue;
    // With rings that cross NICs an odd channel starts where the one before it ended.
    if (wanted_.pattern == Pattern::kRing && wanted_.crossNic == 2 && (channel & 1) != 0 &&
        net != wanted_.endNet(channel - 1))
      continue;
    wanted_.nets[2 * static_cast<std::size_t>(channel)] = net;
    wanted_.latencyInter = device.latency;
    space_.takeNetBandwidth(net, static_cast<float>(demand_));
    if (!heads_) {
      startTreeOrRing(net);
    } else if (channel < count) {
      startFromHead(net, found);
    }
    space_.takeNetBandwidth(net, -static_cast<float>(demand_));
  }
}

void Search::startTreeOrRing(int net) {
  const int channel = wanted_.nChannels;
  if (replaysOrStartsLocal_) {
    if (channel > 0 && wanted_.sameChannels) return startAt(net, gpuAt(channel - 1, 0), Order::kReplay);
    if (channel == 0 && !space_.hasNvs()) startInPciOrder(net);
    return startFree(net);
  }
  if (channel > 0) startAt(net, gpuAt(channel - 1, 0), Order::kReplay);
  if (channel > 0 && wanted_.sameChannels) return;
  if (channel == 0 && !space_.hasNvs()) startInPciOrder(net);
  if (space_.nearestBandwidth(net) < static_cast<float>(demand_)) return;
  startFree(net);
}

// PCI order has a budget of its own.
void Search::startInPciOrder(int net) {
  const std::int64_t outside = progress_.left;
  progress_.left = kSearchBudgetPciOrder;
  startAt(net, 0, Order::kPci);
  progress_.cut |= progress_.left == 0;
  if (progress_.left != SearchOutcome::kPerfect) progress_.left = outside;
}

// Starts at every GPU, or at those nearest to the NET, by older rules beginning with the GPU that has the channel's number.
void Search::startFree(int net) {
  exploreOnce(startKey(net), true, [&] {
    if (net == kNowhere) {
      for (int gpu = 0; gpu < gpus_; ++gpu) startAt(kNowhere, gpu, Order::kFree);
      return;
    }
    const auto nearest = space_.gpusNearest(net);
    if (replaysOrStartsLocal_) {
      for (const int gpu : nearest) startAt(net, gpu, Order::kFree);
      return;
    }
    const int first = wanted_.nChannels % gpus_;
    const auto start = std::lower_bound(nearest.begin(), nearest.end(), first) - nearest.begin();
    for (std::size_t i = 0; i < nearest.size(); ++i)
      startAt(net, nearest[(static_cast<std::size_t>(start) + i) % nearest.size()], Order::kFree);
  });
}

void Search::startAt(int net, int gpu, Order order) {
  if (net == kNowhere) return enterChannel(gpu, order);
  follow(space_.netToGpu(net, gpu), inter_, [&] { enterChannel(gpu, order); });
}

void Search::enterChannel(int gpu, Order order) {
  const Channel outer = channel_;
  const std::size_t row = slot(wanted_.nChannels, 0);
  channel_ = {};
  channel_.order = order;
  channel_.gpus = wanted_.gpus.data() + row;
  channel_.used = workspace_.used.data() + row;
  channel_.trail = workspace_.trails.data() + row;
  channel_.trail[0] = {hashWeight(static_cast<std::uint64_t>(gpu)), 0};
  if (exact_) {
    channel_.last = isLast(gpu);
    channel_.key = enteredKey(netAtStart(), gpu);
  }
  if (keepsRanks_ && order == Order::kFree) {
    channel_.netRanks = workspace_.netRanks.data() + row;
    for (int i = 0; i < gpus_; ++i) channel_.netRanks[i] = space_.netKey(netAtStart(), i);
  }
  channel_.used[gpu] = 1;
  step(gpu, 0, backToNet_);
  channel_.used[gpu] = 0;
  channel_ = outer;
}

void Search::step(int gpu, int position, int backToNet) {
  if (progress_.left <= 0) return;
  progress_.countStep();
  if (position == gpus_) return completeChannel();
  channel_.gpus[position] = gpu;
  if (position == backToNet) return leaveToNet(gpu, position);
  if (wanted_.pattern == Pattern::kNvls) return tryNvls(gpu);
  if (wanted_.pattern == Pattern::kCollnetDirect) return tryCollnetDirect(gpu);
  if (position == gpus_ - 1) return closeChannel(gpu, position);
  if (channel_.order == Order::kFree) return tryFree(gpu, position, backToNet);
  const int next = channel_.order == Order::kPci ? position + 1 : gpuAt(wanted_.nChannels - 1, position + 1);
  goOn(space_.gpuToGpu(gpu, next), next, position, backToNet);
}

// Goes on to the next GPU.
void Search::goOn(const Route& route, int next, int position, int backToNet, bool fits) {
  const auto explore = [&] {
    channel_.used[next] = 1;
    step(next, position + 1, backToNet);
    channel_.used[next] = 0;
  };
  follow(route, intra_, explore, fits);
}

// A ring without NETs goes back to its first GPU; every other channel ends here.
void Search::closeChannel(int gpu, int position) {
  if (position != backToFirst_) return step(gpu, gpus_, -1);
  const int first = channel_.gpus[0];
  follow(space_.gpuToGpu(gpu, first), intra_, [&] { step(first, gpus_, -1); });
}

void Search::completeChannel() {
  ++wanted_.nChannels;
  const SearchScore score{wanted_.nChannels, wanted_.nHops};
  progress_.score.keepBetter(score);
  if (isBetter(wanted_, best_, score)) {
    best_ = wanted_;
    ++progress_.improvements;
    if (wanted_.nChannels == wanted_.maxChannels) progress_.left = SearchOutcome::kPerfect;
  }
  if (wanted_.nChannels < wanted_.maxChannels && !channel_.last) nextChannel();
  --wanted_.nChannels;
}

// Goes on to each GPU that is left, best first.
void Search::tryFree(int gpu, int position, int backToNet) {
  if (countOrders(gpu, position, backToNet)) return;
  const bool remembers = exact_ && position < gpus_ - kTooFewToRemember;
  const std::size_t begin = candidatesEnd_;
  appendCandidates(gpu);
  const std::size_t end = candidatesEnd_;
  if (end - begin > 1 && backToNet >= 0 && !space_.hasNvs()) {
    rankByNet(begin);
    // If the next GPU does not leave to the NET and all are alike from here, the worst goes first, to keep
    // the best for the one that does.
    if (backToNet != position + 1 && allAlike(gpu))
      std::reverse(workspace_.candidates.begin() + static_cast<std::ptrdiff_t>(begin),
                   workspace_.candidates.begin() + static_cast<std::ptrdiff_t>(end));
  }
  // Inlined, as this is the innermost loop of a search.
  const auto tryAll = [&]() __attribute__((always_inline)) {
    for (std::size_t i = begin; i < end; ++i) {
      const NextGpu& next = *workspace_.candidates[i].next;
      if (remembers) extendTrail(next, position + 1);
      goOn(*next.route, next.gpu, position, backToNet, exact_);
    }
  };
  // With a single candidate, the state behind it is remembered instead.
  if (remembers && end - begin > 1)
    exploreOnce(stepKey(gpu, position, backToNet), channel_.last, tryAll);
  else
    tryAll();
  candidatesEnd_ = begin;
}

// Appends the GPUs that are left behind this one. If bandwidths are exact, leaves out those without enough:
// free bandwidth will be the same whenever their turn comes.
void Search::appendCandidates(int gpu) {
  std::vector<RankedGpu>& candidates = workspace_.candidates;
  const auto nextGpus = routes_.nextGpus(gpu);
  if (candidates.size() < candidatesEnd_ + nextGpus.size())
    candidates.resize(2 * (candidatesEnd_ + nextGpus.size()));
  RankedGpu* end = candidates.data() + candidatesEnd_;
  for (const NextGpu& next : nextGpus)
    if (channel_.used[next.gpu] == 0 && (!exact_ || fits(next))) *end++ = {0, &next};
  candidatesEnd_ = static_cast<std::size_t>(end - candidates.data());
}

// Sorts the candidates from `begin` on by the way from the NET their channel starts at. Equal ones keep their
// order. Insertion sort: there are few, and they are often in order already.
void Search::rankByNet(std::size_t begin) {
  std::vector<RankedGpu>& candidates = workspace_.candidates;
  for (std::size_t i = begin; i < candidatesEnd_; ++i) {
    RankedGpu candidate = candidates[i];
    const int gpu = candidate.next->gpu;
    candidate.netRank =
        channel_.netRanks != nullptr ? channel_.netRanks[gpu] : space_.netKey(netAtStart(), gpu);
    std::size_t slot = i;
    for (; slot > begin && candidates[slot - 1].netRank > candidate.netRank; --slot)
      candidates[slot] = candidates[slot - 1];
    candidates[slot] = candidate;
  }
}

// Returns whether all GPUs that are left have paths of the same bandwidth and length from here.
bool Search::allAlike(int gpu) const {
  if (space_.alikeFrom(gpu)) return true;
  const auto isLeft = [&](int other) { return channel_.used[other] == 0; };
  const auto others = space_.gpusByPath(gpu);
  const auto best = std::find_if(others.begin(), others.end(), isLeft);
  const auto worst = std::find_if(others.rbegin(), others.rend(), isLeft);
  return space_.pathKey(gpu, *best) == space_.pathKey(gpu, *worst);
}

bool Search::mayEndOnRails(int net, int start) const {
  return !space_.otherPlane(net, start) && (wanted_.crossNic != 0 || space_.sameRail(net, start));
}

void Search::leaveToNet(int gpu, int position) {
  // A balanced tree leaves from its first two GPUs, with half of the traffic each.
  const bool balanced = wanted_.pattern == Pattern::kBalancedTree;
  const int backToNet = balanced && position == 0 ? 1 : -1;
  const Load& load = balanced ? loads_.of(Portion::kInterHalf) : inter_;
  for (int net : space_.netsWithin(gpu, wanted_.typeInter)) {
    if (!mayEndAt(net, position)) continue;
    follow(space_.gpuToNet(gpu, net), load, [&] {
      wanted_.nets[2 * static_cast<std::size_t>(wanted_.nChannels) + 1] = net;
      step(gpu, position, backToNet);
    });
  }
}

// Returns whether the channel being built may end at this NET.
bool Search::mayEndAt(int net, int position) const {
  const int channel = wanted_.nChannels;
  const int start = wanted_.startNet(channel);
  if (wanted_.pattern == Pattern::kTree && net != start) return false;
  if (wanted_.pattern == Pattern::kRing && wanted_.crossNic == 2) {
    // An odd channel ends where the one before it started.
    if ((channel & 1) != 0 && net != wanted_.startNet(channel - 1)) return false;
  } else if (wanted_.crossNic == 0 && !space_.samePort(net, start) && !rails_) {
    return false;
  }
  if (rails_ && !mayEndOnRails(net, start)) return false;
  return wanted_.pattern != Pattern::kBalancedTree || position == 0 || net == wanted_.endNet(channel);
}

// A GPU heads one channel at most.
void Search::startFromHead(int net, bool& found) {
  const int head = space_.localGpu(net);
  if (head < 0) return;
  for (int c = 0; c < wanted_.nChannels; ++c)
    if (gpuAt(c, 0) == head) return;
  startAt(net, head, Order::kFree);
  found = true;
}

// Follows all routes and completes the channel if they have enough. NCCL checks the type of a path only where
// it carries the whole bandwidth, and truncates the sum of hops at every route.
void Search::followAll(int head, const std::vector<HeadRoute>& routes) {
  const auto addHops = [&](const HeadRoute& by, float sign) {
    wanted_.nHops = static_cast<int>(static_cast<float>(wanted_.nHops) +
                                     sign * by.portion * static_cast<float>(by.route->hops));
  };
  std::size_t taken = 0;
  for (const HeadRoute& by : routes) {
    if (noRouteIfApart_ && by.route->type >= paths::PathType::kDis) break;
    if ((by.portion == 1 && !routes_.usable(*by.route)) || !space_.take(*by.route, *by.load)) break;
    addHops(by, 1);
    ++taken;
  }
  if (taken == routes.size()) step(head, gpus_, -1);
  for (; taken > 0; --taken) {
    space_.giveBack(*routes[taken - 1].route, *routes[taken - 1].load);
    addHops(routes[taken - 1], -1);
  }
}

// Every GPU exchanges with the NVSwitch, the head twice: for itself and for the NET.
void Search::tryNvls(int head) {
  std::vector<HeadRoute> routes;
  const auto add = [&](int gpu, const Route& route) {
    const bool twice = gpu == head;
    routes.push_back({&route, twice ? &loads_.of(Portion::kIntraTwice) : &intra_, twice ? 2.0f : 1.0f});
  };
  for (int gpu = 0; gpu < gpus_; ++gpu) add(gpu, space_.nvsToGpu(gpu));
  for (int gpu = 0; gpu < gpus_; ++gpu) add(gpu, space_.gpuToNvs(gpu));
  followAll(head, routes);
}

// The head exchanges with every other GPU, each its part of the bandwidth.
void Search::tryCollnetDirect(int head) {
  std::vector<HeadRoute> routes;
  const Load& load = loads_.of(Portion::kIntraPart);
  const auto part = static_cast<float>(1.0 / (gpus_ - 1));
  for (int gpu = 0; gpu < gpus_; ++gpu) routes.push_back({&space_.gpuToGpu(head, gpu), &load, part});
  for (int gpu = 0; gpu < gpus_; ++gpu) routes.push_back({&space_.gpuToGpu(gpu, head), &load, part});
  int position = 0;
  for (int gpu = 0; gpu < gpus_; ++gpu)
    if (gpu != head) gpuAt(wanted_.nChannels, ++position) = gpu;
  followAll(head, routes);
}

}  // namespace xylem::search
