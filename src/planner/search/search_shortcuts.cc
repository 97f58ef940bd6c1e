// How the search charges most of its steps without taking them, and why that changes nothing.
//
// All of this is for searches in which taking and giving back bandwidth leaves no trace (exact_). Others are
// walked step by step, because rounding leaves different bandwidths behind.
//
// Memo (exploreOnce). An exploration that came to its end and improved nothing is remembered under the key of
// its state, with its steps and the best score it completed. When the state comes back, the steps are charged
// at once, unless the budget would end within them or that score would now improve on the best graph. A state
// key hashes what there is to try, not the order in which it is tried, because an exploration that comes to
// its end tries it all. There is a key for each place:
//   channelKey   all channels from here on: how much fits on links and NETs, and the order of the previous
//                channel, which is replayed
//   startKey     the same, from one NET in free order: nothing is replayed
//   stepKey      the rest of a channel: which GPUs are left, the GPU it is at, how it may end, and what it
//   took
//                of links that several GPUs share. If it completes channels, everything it took matters to
//                those that follow, so the memo holds only if none can (Channel::last) or none was completed.
//
// Pruning (pointless). Once the budget is used up, nothing is left to do but give back.
//
// Counting (countOrders). In a last channel, see order_count.h.

#include <algorithm>

#include "planner/search/search.h"

namespace xylem::search {
namespace {

// To fewer GPUs than these it is quicker to walk.
constexpr int kTooFewToCount = 3;
// To more than these no budget suffices as a rule, and finding that out takes time in proportion to the
// square.
constexpr int kTooManyToCount = 32;

std::uint64_t pack(int high, int low) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
}

}  // namespace

std::uint64_t Search::startKey(int net) const {
  const int channel = wanted_.nChannels;
  std::uint64_t key = mixHash(space_.netsHash(), capacityBefore_[static_cast<std::size_t>(channel)]);
  key = mixHash(key, pack(channel, net));
  // With rings that cross NICs odd channels take the way of the one before, backwards.
  if (wanted_.pattern == Pattern::kRing && wanted_.crossNic == 2 && (channel & 1) != 0)
    key = mixHash(key, pack(wanted_.startNet(channel - 1), wanted_.endNet(channel - 1)));
  return key;
}

std::uint64_t Search::channelKey() const {
  std::uint64_t key = startKey(nets_);  // any NET
  for (int i = 0; i < gpus_; ++i)
    key = mixHash(key, static_cast<std::uint64_t>(wanted_.gpu(wanted_.nChannels - 1, i)));
  return key;
}

std::uint64_t Search::enteredKey(int net, int gpu) const {
  return mixHash(startKey(net), pack(gpu, channel_.last ? 1 : 0));
}

std::uint64_t Search::stepKey(int gpu, int position, int backToNet) const {
  const Trail& trail = channel_.trail[position];
  const int end =
      nets_ == 0 || wanted_.pattern == Pattern::kRing ? kNowhere : wanted_.endNet(wanted_.nChannels);
  std::uint64_t key = mixHash(mixHash(channel_.key, trail.taken), trail.gpus);
  // A tree that left from its second GPU took the links from there.
  if (end != kNowhere && wanted_.pattern != Pattern::kTree && backToNet < 0 && position > 0)
    key = mixHash(key, routes_.sharedWeight(space_.gpuToNet(channel_.gpus[1], end)));
  return mixHash(mixHash(key, pack(end, backToNet)), static_cast<std::uint64_t>(gpu));
}

// Returns whether no channel can start after the one that now starts at GPU `first`. The bandwidth
// that this one takes can only make it harder.
bool Search::isLast(int first) const {
  if (wanted_.nChannels + 1 >= wanted_.maxChannels) return true;
  if (nets_ == 0) return false;
  const auto nets = space_.netsWithin(-1, wanted_.typeInter);
  return std::none_of(nets.begin(), nets.end(), [&](int net) { return mayStart(net, first); });
}

bool Search::mayStart(int net, int first) const {
  if (space_.netBandwidth(net) < static_cast<float>(demand_)) return false;
  const auto fits = [&](int gpu) {
    const Route& route = space_.netToGpu(net, gpu);
    return routes_.usable(route) && space_.hasFree(route, inter_);
  };
  if (fits(first)) return true;
  if (wanted_.sameChannels) return false;
  if (!replaysOrStartsLocal_ && space_.nearestBandwidth(net) < static_cast<float>(demand_)) return false;
  const auto nearest = space_.gpusNearest(net);
  return std::any_of(nearest.begin(), nearest.end(), fits);
}

// Charges the steps of all orders of the GPUs that are left. Returns false if they have to be walked: the
// channel is not the last, GPUs share links, the budget ends within the steps, or a channel would improve on
// the best.
bool Search::countOrders(int gpu, int position, int backToNet) {
  const bool countable = channel_.last && routes_.usesOwnLinksOnly() && gpus_ <= OrderCount::kMaxGpus &&
                         gpus_ - position > kTooFewToCount && gpus_ - position < kTooManyToCount &&
                         (backToNet < 0 || backToNet == gpus_ - 1);
  if (!countable) return false;
  OrderCount& orders = workspace_.orders;
  orders.clear(gpus_);
  std::uint64_t visited = 0;
  for (int from = 0; from < gpus_; ++from) {
    if (channel_.used[from] != 0) visited |= std::uint64_t{1} << from;
    if (channel_.used[from] != 0 && from != gpu) continue;
    for (const NextGpu& next : routes_.nextGpus(from))
      if (channel_.used[next.gpu] == 0 && fits(next)) orders.addHop(from, next.gpu, next.route->hops);
    if (from != gpu) countEnds(from, backToNet);
  }
  if (!orders.count(gpu, visited, progress_.left)) return false;
  SearchScore score;
  if (orders.score().channels > 0) score = {wanted_.nChannels + 1, wanted_.nHops + orders.score().hops};
  if (isBetter(wanted_, best_, score)) return false;
  progress_.charge(orders.steps(), score);
  return true;
}

// How a channel can end at its last GPU: in one step that closes or completes it, or in two for each NET that
// it can leave to.
void Search::countEnds(int last, int backToNet) {
  const auto fits = [&](const Route& route, const Load& load) {
    return routes_.usable(route) && space_.hasFree(route, load);
  };
  int steps = 0;
  SearchScore ends;
  if (backToNet >= 0) {
    for (int net : space_.netsWithin(last, wanted_.typeInter)) {
      const Route& route = space_.gpuToNet(last, net);
      if (!mayEndAt(net, gpus_ - 1) || !fits(route, inter_)) continue;
      steps += 2;
      ends.keepBetter({1, route.hops});
    }
  } else if (backToFirst_ >= 0) {
    const Route& route = space_.gpuToGpu(last, channel_.gpus[0]);
    steps = fits(route, intra_) ? 1 : 0;
    ends.hops = route.hops;
  } else {
    steps = 1;
  }
  workspace_.orders.setEnd(last, steps, ends.hops);
}

}  // namespace xylem::search
