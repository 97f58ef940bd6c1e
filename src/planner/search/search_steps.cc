// The steps of one channel: from GPU to GPU, out to the NET, back to the first.

#include <algorithm>

#include "planner/search/search.h"

namespace xylem {
namespace {

// From so few GPUs to the end of a channel, exploring costs less than remembering.
constexpr int kTooFewToRemember = 8;

}  // namespace

void Search::step(int gpu, int position, int backToNet) {
  if (time_ <= 0) return;
  --time_;
  ++steps_;
  if (position == gpus_) return completeChannel();
  current_.gpus[position] = gpu;
  if (position == backToNet) return leaveToNet(gpu, position);
  if (heads_) return tryHead(gpu);
  if (position == gpus_ - 1) return closeChannel(gpu, position);
  if (current_.order == Order::kFree) return tryFree(gpu, position, backToNet);
  const int next = current_.order == Order::kPci ? position + 1 : gpuAt(wanted_.nChannels - 1, position + 1);
  const Route& route = space_.gpuToGpu(gpu, next);
  if (!terrain_.open(route) || !take(route, intra_)) return;
  current_.used[next] = 1;
  step(next, position + 1, backToNet);
  current_.used[next] = 0;
  giveBack(route, intra_);
}

// What the rest of the channel depends on: which GPUs it has been to, not in which order.
std::uint64_t Search::stepState(int gpu, int backToNet) const {
  std::uint64_t hash = mixHash(current_.entered, traceless_ ? trail_.takenShared : space_.freeHash());
  hash = mixHash(hash, trail_.gpus);
  const int end = wanted_.pattern == Pattern::kRing ? 0 : wanted_.endNet(wanted_.nChannels);
  return mixHash(hash, (static_cast<std::uint64_t>(end) << 32) ^
                           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(backToNet)) << 16) ^
                           static_cast<std::uint64_t>(gpu));
}

void Search::closeChannel(int gpu, int position) {
  if (position != backToFirst_) return step(gpu, gpus_, -1);
  const int first = current_.gpus[0];
  const Route& route = space_.gpuToGpu(gpu, first);
  if (!terrain_.open(route) || !take(route, intra_)) return;
  step(first, gpus_, -1);
  giveBack(route, intra_);
}

void Search::visit(int gpu, const Way& way, int position, int backToNet) {
  const std::span steps(way.first, static_cast<std::size_t>(way.steps));
  const Trail before = trail_;
  if (traceless_) {  // the candidates are those that have room
    space_.free().takeFree(steps, intra_);
    trail_.takenShared += way.sharedWeight * amountOf(intra_);
  } else if (!space_.take(space_.gpuToGpu(gpu, way.gpu), intra_)) {
    return;
  }
  trail_.gpus += way.gpuWeight;
  wanted_.nHops += way.hops;
  current_.used[way.gpu] = 1;
  step(way.gpu, position, backToNet);
  current_.used[way.gpu] = 0;
  wanted_.nHops -= way.hops;
  trail_ = before;
  if (traceless_)
    space_.free().giveBackExact(steps, intra_);
  else
    space_.giveBack(space_.gpuToGpu(gpu, way.gpu), intra_);
}

void Search::tryFree(int gpu, int position, int backToNet) {
  if (chargeByCensus(gpu, position, backToNet)) return;
  const std::size_t begin = candidatesEnd_;
  appendCandidates(gpu);
  const std::size_t end = candidatesEnd_;
  if (end - begin > 1 && backToNet >= 0 && !space_.hasNvs()) {
    rankByNet(begin);
    // The next GPU does not leave to the NET: if all are alike from here, the worst goes first, to keep the
    // best for the one that does.
    if (backToNet != position + 1 && allAlike(gpu, begin))
      std::reverse(memory_.candidates.begin() + static_cast<std::ptrdiff_t>(begin),
                   memory_.candidates.begin() + static_cast<std::ptrdiff_t>(end));
  }
  const auto explore = [&] {
    for (std::size_t i = begin; i < end && !(time_ <= 0 && traceless_); ++i)
      visit(gpu, *memory_.candidates[i], position + 1, backToNet);
  };
  // With one way on, what follows is as good as what is here.
  if (end - begin > 1 && position < gpus_ - kTooFewToRemember && time_ > 0)
    remembered(stepState(gpu, backToNet), current_.last, explore);
  else
    explore();
  candidatesEnd_ = begin;
}

// The GPUs behind this one that are left. While nothing leaves traces, only those that can be reached: the
// free bandwidth is the same whenever their turn comes.
void Search::appendCandidates(int gpu) {
  if (memory_.candidates.size() < candidatesEnd_ + static_cast<std::size_t>(gpus_))
    memory_.candidates.resize(2 * candidatesEnd_ + static_cast<std::size_t>(gpus_));
  const std::uint8_t* used = current_.used;
  const Way** end = memory_.candidates.data() + candidatesEnd_;
  for (const Way& way : terrain_.behind(gpu))
    if (used[way.gpu] == 0 && (!traceless_ || hasFree(way))) *end++ = &way;
  candidatesEnd_ = static_cast<std::size_t>(end - memory_.candidates.data());
}

// Whether all GPUs that are left, not only the candidates from `begin` on, have paths of the same bandwidth
// and length from here.
bool Search::allAlike(int gpu, std::size_t begin) const {
  if (space_.alikeFrom(gpu)) return true;
  const std::uint32_t key = memory_.candidates[begin]->pathKey;
  for (std::size_t i = begin + 1; i < candidatesEnd_; ++i)
    if (memory_.candidates[i]->pathKey != key) return false;
  const auto others = space_.gpusByPath(gpu);
  return std::all_of(others.begin(), others.end(), [&](int other) {
    return current_.used[other] != 0 || space_.pathKey(gpu, other) == key;
  });
}

std::uint64_t Search::rank(int gpu) {
  const int net = wanted_.startNet(wanted_.nChannels);
  if (current_.ranks == nullptr) return space_.netKey(net, gpu);
  if (!current_.ranked)
    for (int i = 0; i < gpus_; ++i) current_.ranks[i] = space_.netKey(net, i);
  current_.ranked = true;
  return current_.ranks[gpu];
}

// Ranks the candidates from `begin` on by the way from the NET their channel starts at. Equal ones keep their
// order. Insertion sort: there are few, and they are often in order already.
void Search::rankByNet(std::size_t begin) {
  for (std::size_t i = begin; i < candidatesEnd_; ++i) {
    const Way* way = memory_.candidates[i];
    const std::uint64_t key = rank(way->gpu);
    std::size_t slot = i - begin;
    for (; slot > 0 && memory_.keys[slot - 1] > key; --slot) {
      memory_.keys[slot] = memory_.keys[slot - 1];
      memory_.candidates[begin + slot] = memory_.candidates[begin + slot - 1];
    }
    memory_.keys[slot] = key;
    memory_.candidates[begin + slot] = way;
  }
}

void Search::leaveToNet(int gpu, int position) {
  // A balanced tree leaves from its first two GPUs, half of the traffic each.
  const bool balanced = wanted_.pattern == Pattern::kBalancedTree;
  const int backToNet = balanced && position == 0 ? 1 : -1;
  const Load& load = balanced ? interHalf_ : inter_;
  for (int net : space_.netsWithin(gpu, wanted_.typeInter)) {
    if (!mayEndAt(net, position)) continue;
    if (time_ <= 0 && traceless_) return;
    const Route& route = space_.gpuToNet(gpu, net);
    if (!terrain_.open(route) || !take(route, load)) continue;
    wanted_.nets[2 * static_cast<std::size_t>(wanted_.nChannels) + 1] = net;
    step(gpu, position, backToNet);
    giveBack(route, load);
  }
}

// Whether the channel being built may end at this NET.
bool Search::mayEndAt(int net, int position) const {
  const int channel = wanted_.nChannels;
  const int start = wanted_.startNet(channel);
  if (wanted_.pattern == Pattern::kTree && net != start) return false;
  if (wanted_.pattern == Pattern::kRing && wanted_.crossNic == 2) {
    // An odd channel ends where the one before it started.
    if ((channel & 1) != 0 && net != wanted_.startNet(channel - 1)) return false;
  } else if (wanted_.crossNic == 0 && !space_.samePort(net, start)) {
    return false;
  }
  return wanted_.pattern != Pattern::kBalancedTree || position == 0 || net == wanted_.endNet(channel);
}

}  // namespace xylem
