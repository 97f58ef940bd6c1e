#include "planner/search/search.h"

#include <algorithm>

namespace xylem {

Search::Search(SearchSpace& space, const Terrain& terrain, const Room& room, ChannelGraph& wanted,
               ChannelGraph& best, SearchMemory& memory)
    : space_(space),
      terrain_(terrain),
      room_(room),
      wanted_(wanted),
      best_(best),
      memory_(memory),
      intra_(room.intra()),
      inter_(room.inter()),
      interHalf_(room.interHalf()),
      gpus_(space.gpuCount()),
      nets_(space.netCount()),
      demand_(static_cast<int>(wanted.bwInter)),
      heads_(wanted.pattern == Pattern::kNvls || wanted.pattern == Pattern::kCollnetDirect),
      remembers_(!heads_),
      traceless_(room.traceless()),
      // A ring leaves to the NET from its last GPU, when all have been ranked.
      keepsRanks_(nets_ > 0 && !space.hasNvs() && traceless_ && wanted.pattern == Pattern::kRing &&
                  terrain.sparesPci()) {
  const std::size_t rows = static_cast<std::size_t>(kMaxChannels) * static_cast<std::size_t>(gpus_);
  memory.explored.clear();
  memory.keys.resize(static_cast<std::size_t>(gpus_));
  memory.used.resize(rows);
  if (keepsRanks_) memory.ranks.resize(rows);
  if (nets_ > 0) {
    backToNet_ = wanted.pattern == Pattern::kRing ? gpus_ - 1 : wanted.pattern == Pattern::kSplitTree ? 1 : 0;
  } else if (wanted.pattern == Pattern::kRing) {
    backToFirst_ = gpus_ - 1;
  }
}

std::int64_t Search::run(std::int64_t budget) {
  wanted_.nChannels = 0;
  const int hops = wanted_.nHops;
  time_ = budget;
  nextChannel();
  completed_.hops -= hops;
  return time_;
}

// What the channels from this one on depend on if they start at this NET in free order. The room on the links
// is that before the start; what is left of the NETs is in the space's hash.
std::uint64_t Search::startState(int net) const {
  const int channel = wanted_.nChannels;
  const std::uint64_t hash =
      mixHash(mixHash(space_.freeHash(), roomBefore_),
              static_cast<std::uint64_t>(channel) << 32 | static_cast<std::uint32_t>(net));
  // With rings that cross NICs odd channels take the way of the one before, backwards.
  if (wanted_.pattern != Pattern::kRing || wanted_.crossNic != 2 || (channel & 1) == 0) return hash;
  return mixHash(hash, static_cast<std::uint64_t>(wanted_.startNet(channel - 1)) << 32 |
                           static_cast<std::uint32_t>(wanted_.endNet(channel - 1)));
}

// What the channels from this one on depend on. The order of the one before is replayed.
std::uint64_t Search::channelState() const {
  std::uint64_t hash = startState(nets_);
  for (int i = 0; i < gpus_; ++i)
    hash = mixHash(hash, static_cast<std::uint64_t>(wanted_.gpu(wanted_.nChannels - 1, i)));
  return hash;
}

// What the rest of a channel depends on, except for what it takes itself.
std::uint64_t Search::enteredState(int net, int gpu) const {
  const std::uint64_t hash = traceless_ ? startState(net) : static_cast<std::uint64_t>(net);
  return mixHash(hash, static_cast<std::uint64_t>(gpu) << 1 | (current_.last ? 1u : 0u));
}

void Search::nextChannel() {
  if (!remembers_ || wanted_.nChannels == 0 || time_ <= 0) return exploreChannel();
  const std::uint64_t outside = roomBefore_;
  if (traceless_) roomBefore_ = room_.hash();
  remembered(channelState(), true, [this] { exploreChannel(); });
  roomBefore_ = outside;
}

void Search::exploreChannel() {
  const int channel = wanted_.nChannels;
  if (nets_ > 0) return startFromNets();
  if (wanted_.pattern == Pattern::kNvls) return startAt(kNowhere, channel, Order::kFree);
  if (channel == 0)
    startAt(kNowhere, 0, Order::kPci);
  else
    startAt(kNowhere, gpuAt(channel - 1, 0), Order::kReplay);
  if (!wanted_.sameChannels || channel == 0) startFree(kNowhere);
}

void Search::startFromNets() {
  const auto nets = space_.netsWithin(-1, wanted_.typeInter);
  const auto count = static_cast<int>(nets.size());
  const int channel = wanted_.nChannels;
  bool found = false;
  for (int i = 0; i < count; ++i) {
    if (heads_ && found) return;
    // Nothing can happen any more. First channels have a budget of their own.
    if (time_ <= 0 && channel > 0 && traceless_) return;
    const int net = nets[static_cast<std::size_t>((channel + i) % count)];
    const Net& device = space_.system().net(space_.system().node(NodeType::kNet, net));
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
  if (channel > 0) startAt(net, gpuAt(channel - 1, 0), Order::kReplay);
  if (channel > 0 && wanted_.sameChannels) return;
  if (channel == 0 && !space_.hasNvs()) startInPciOrder(net);
  if (space_.nearestBandwidth(net) < static_cast<float>(demand_)) return;
  startFree(net);
}

// With a budget of its own.
void Search::startInPciOrder(int net) {
  const std::int64_t outside = time_;
  time_ = kSearchBudgetPciOrder;
  startAt(net, 0, Order::kPci);
  cut_ |= time_ == 0;
  if (time_ != kPerfect) time_ = outside;
}

// From every GPU, or from those nearest to the NET, beginning with the one that has the channel's number.
void Search::startFree(int net) {
  const int channel = wanted_.nChannels;
  const auto explore = [&] {
    if (net == kNowhere) {
      for (int gpu = 0; gpu < gpus_; ++gpu) startAt(kNowhere, gpu, Order::kFree);
      return;
    }
    const auto nearest = space_.gpusNearest(net);
    const auto start = std::lower_bound(nearest.begin(), nearest.end(), channel % gpus_) - nearest.begin();
    for (std::size_t i = 0; i < nearest.size(); ++i)
      startAt(net, nearest[(static_cast<std::size_t>(start) + i) % nearest.size()], Order::kFree);
  };
  if (!remembers_ || channel == 0 || time_ <= 0) return explore();
  remembered(startState(net), true, explore);
}

void Search::startAt(int net, int gpu, Order order) {
  if (time_ <= 0 && traceless_) return;
  if (net == kNowhere) return enter(net, gpu, order);
  const Route& route = space_.netToGpu(net, gpu);
  if (!terrain_.open(route) || !take(route, inter_)) return;
  enter(net, gpu, order);
  giveBack(route, inter_);
}

void Search::enter(int net, int gpu, Order order) {
  const Channel outer = current_;
  const Trail before = trail_;
  const std::size_t row = slot(wanted_.nChannels, 0);
  current_ = {order, traceless_ && isLast(gpu), 0, wanted_.gpus.data() + row};
  if (keepsRanks_) current_.ranks = memory_.ranks.data() + row;
  current_.used = memory_.used.data() + row;
  current_.entered = enteredState(net, gpu);
  trail_ = {0, space_.gpuWeight(gpu)};
  current_.used[gpu] = 1;
  step(gpu, 0, backToNet_);
  current_.used[gpu] = 0;
  trail_ = before;
  current_ = outer;
}

// No channel can start after the one that now starts at GPU `first`: what it takes itself can only make it
// harder.
bool Search::isLast(int first) const {
  if (wanted_.nChannels + 1 >= wanted_.maxChannels) return true;
  if (nets_ == 0) return false;
  const auto nets = space_.netsWithin(-1, wanted_.typeInter);
  return std::none_of(nets.begin(), nets.end(), [&](int net) { return mayStart(net, first); });
}

bool Search::mayStart(int net, int first) const {
  if (space_.netBandwidth(net) < static_cast<float>(demand_)) return false;
  const auto free = [&](int gpu) {
    const Route& route = space_.netToGpu(net, gpu);
    return terrain_.open(route) && space_.hasFree(route, inter_);
  };
  if (free(first)) return true;
  if (wanted_.sameChannels || space_.nearestBandwidth(net) < static_cast<float>(demand_)) return false;
  const auto nearest = space_.gpusNearest(net);
  return std::any_of(nearest.begin(), nearest.end(), free);
}

void Search::completeChannel() {
  ++wanted_.nChannels;
  const Completed completed{wanted_.nChannels, wanted_.nHops};
  completed_.add(completed);
  if (isBetter(wanted_, best_, completed)) record();
  if (wanted_.nChannels < wanted_.maxChannels && !current_.last) nextChannel();
  --wanted_.nChannels;
}

void Search::record() {
  best_ = wanted_;
  ++records_;
  if (wanted_.nChannels == wanted_.maxChannels) time_ = kPerfect;
}

}  // namespace xylem
