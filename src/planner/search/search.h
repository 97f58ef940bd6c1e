#pragma once
// The recursive search: depth first over orders of GPUs, channel after channel, within a budget of steps.
//
//   Search search(space, terrain, room, wanted, best, memory);  // `wanted` says pattern and bandwidths
//   std::int64_t left = search.run(budget);                       // improves `best` in place
//
// Both graphs come with room for kMaxChannels channels. The order of candidates, the budget and the rounding
// of bandwidths decide which solution is found first, so they are part of the result. Every step that NCCL
// takes is counted, but not every one is taken:
//
// - What was explored without improving `best` is remembered by the state it started from, with its steps and
//   the best it completed (Explored). It is charged at once when the state comes back, as long as the budget
//   lasts beyond it and what it completed would not be better than `best` now.
// - A state is what an exploration that comes to its end can depend on: what there is to try, not in which
//   order. For further channels: the room that is left (Room), not the order of the channels so far, except
//   where that is replayed. For the rest of a channel: which GPUs are left, and of what it took itself only
//   what it took of links that several GPUs share (Terrain). Completed channels make all the room matter,
//   unless no further channel can start.
// - While rounding leaves traces (`traceless_` is false) only whole states that come back unchanged count.
// - A last channel is not even walked where its steps can be counted (Census).
//
// search.cc: channel after channel. search_steps.cc: the steps of one channel. search_census.cc: last
// channels. search_heads.cc: NVLS, CollNet.

#include <array>
#include <cstdint>
#include <vector>

#include "planner/search/census.h"
#include "planner/search/channel_graph.h"
#include "planner/search/explored.h"
#include "planner/search/room.h"
#include "planner/search/search_space.h"
#include "planner/search/terrain.h"

namespace xylem {

// What searches work with; worth keeping from one to the next, and cleared by each.
struct SearchMemory {
  Explored explored;
  Census census;
  std::vector<std::uint8_t> used;      // by channel and GPU: whether the channel has been there
  std::vector<std::uint64_t> ranks;    // by channel and GPU: how they rank by the way from the NET
  std::vector<const Way*> candidates;  // a stack: every level appends its own and removes them
  std::vector<std::uint64_t> keys;     // of the candidates being sorted
};

class Search {
 public:
  Search(SearchSpace& space, const Terrain& terrain, const Room& room, ChannelGraph& wanted,
         ChannelGraph& best, SearchMemory& memory);

  // Returns what is left of the budget, or kPerfect: a solution with all channels wanted.
  std::int64_t run(std::int64_t budget);
  static constexpr std::int64_t kPerfect = -1;

  // Entries of the recursion so far, over all budgets.
  std::int64_t steps() const { return steps_; }
  // The best it completed, whether that improved on `best` or not; hops since the start.
  const Completed& completed() const { return completed_; }
  // Every order was tried: no budget ran out.
  bool exhaustive() const { return time_ > 0 && !cut_; }

 private:
  // In which order the GPUs behind a GPU are tried.
  enum class Order : std::uint8_t { kFree, kPci, kReplay };
  // A start from nowhere, for channels that do not begin at a NET.
  static constexpr int kNowhere = -1;

  // Channel after channel.
  void nextChannel();
  void exploreChannel();
  void startFromNets();
  void startTreeOrRing(int net);
  void startInPciOrder(int net);
  void startFree(int net);
  void startAt(int net, int gpu, Order order);
  void enter(int net, int gpu, Order order);
  bool isLast(int first) const;
  bool mayStart(int net, int first) const;
  void completeChannel();
  void record();
  std::uint64_t startState(int net) const;
  std::uint64_t channelState() const;
  std::uint64_t enteredState(int net, int gpu) const;

  // The steps of one channel. `position`: how many GPUs came before. `backToNet`: the position it leaves
  // from.
  void step(int gpu, int position, int backToNet);
  void closeChannel(int gpu, int position);
  void visit(int gpu, const Way& way, int position, int backToNet);
  void tryFree(int gpu, int position, int backToNet);
  void appendCandidates(int gpu);
  void rankByNet(std::size_t begin);
  std::uint64_t rank(int gpu);
  bool allAlike(int gpu, std::size_t begin) const;
  void leaveToNet(int gpu, int position);
  bool mayEndAt(int net, int position) const;
  std::uint64_t stepState(int gpu, int backToNet) const;

  // Last channels, counted instead of walked.
  bool chargeByCensus(int gpu, int position, int backToNet);
  void countEnds(int last, int backToNet);

  // Channels that are heads with all the other GPUs behind them.
  void startFromHead(int net, bool& found);
  void tryHead(int head);
  void tryNvls(int head);
  void tryCollnetDirect(int head);

  // Explores, unless the outcome is known. `whole`: the state is all that what follows a completed channel
  // depends on.
  template <typename Explore>
  void remembered(std::uint64_t state, bool whole, const Explore& explore);

  bool take(const Route& route, const Load& load) {
    if (!(traceless_ ? space_.takeExact(route, load) : space_.take(route, load))) return false;
    trail_.takenShared += terrain_.sharedWeight(route) * amountOf(load);
    wanted_.nHops += route.hops;
    return true;
  }
  void giveBack(const Route& route, const Load& load) {
    traceless_ ? space_.giveBackExact(route, load) : space_.giveBack(route, load);
    trail_.takenShared -= terrain_.sharedWeight(route) * amountOf(load);
    wanted_.nHops -= route.hops;
  }
  bool hasFree(const Way& way) const {
    const FreeBandwidth& free = space_.free();
    if (!free.has(way.first[way.weakest], intra_)) return false;
    if (way.steps == 1) return true;
    for (std::int16_t i = 0; i < way.steps; ++i) {
      if (free.has(way.first[i], intra_)) continue;
      way.weakest = i;
      return false;
    }
    return true;
  }
  static std::uint64_t amountOf(const Load& load) {
    return static_cast<std::uint64_t>(load.milli(Share::kWhole));
  }

  int& gpuAt(int channel, int position) { return wanted_.gpus[slot(channel, position)]; }
  std::size_t slot(int channel, int position) const {
    return static_cast<std::size_t>(channel) * static_cast<std::size_t>(gpus_) +
           static_cast<std::size_t>(position);
  }
  SearchSpace& space_;
  const Terrain& terrain_;
  const Room& room_;
  ChannelGraph& wanted_;
  ChannelGraph& best_;
  SearchMemory& memory_;
  const Load &intra_, &inter_, &interHalf_;  // what a channel takes inside the host and to the NETs
  int gpus_, nets_;
  int demand_;                             // whole GB/s a channel takes of its NET
  int backToNet_ = -1, backToFirst_ = -1;  // at which position a channel leaves to a NET, or closes
  bool heads_;  // NVLS, CollNet: they depend on all channels before, not only the last
  bool remembers_;
  bool traceless_;                // what is taken and given back leaves no trace
  bool keepsRanks_;               // how GPUs rank cannot change within a channel
  bool cut_ = false;              // the budget of a start in PCI order ran out
  std::uint64_t roomBefore_ = 0;  // hash of the room there was for the channel being built and those after it

  // Of the channel being built, from its start on.
  struct Channel {
    Order order = Order::kFree;      // in which its GPUs are tried
    bool last = false;               // no further channel can start
    std::uint64_t entered = 0;       // hash of the state it began with
    int* gpus = nullptr;             // its order, so far
    std::uint64_t* ranks = nullptr;  // by GPU: how they rank by the way from the NET, if that cannot change
    bool ranked = false;             // `ranks` is filled in
    std::uint8_t* used = nullptr;    // by GPU: whether it has been there
  };
  Channel current_;
  // What it took and where it has been, as hashes.
  struct Trail {
    std::uint64_t takenShared = 0;  // of links that several GPUs share
    std::uint64_t gpus = 0;
  };
  Trail trail_;

  std::int64_t time_ = 0;  // what is left of the budget
  std::int64_t steps_ = 0;
  std::int64_t records_ = 0;  // improvements of best_ so far
  Completed completed_;       // in the part being explored
  std::size_t candidatesEnd_ = 0;
};

// NCCL's limits of a search, in steps.
constexpr std::int64_t kSearchBudget = 1 << 14;
constexpr std::int64_t kSearchBudgetSameChannels = 1 << 8;
constexpr std::int64_t kSearchBudgetPciOrder = 1 << 10;
constexpr std::int64_t kSearchBudgetGlobal = 1 << 19;

template <typename Explore>
void Search::remembered(std::uint64_t state, bool whole, const Explore& explore) {
  const Explored::Entry* known = memory_.explored.find(state);
  if (known != nullptr && known->steps < time_) {
    const Completed completed = known->completed.after(wanted_.nHops);
    if (!isBetter(wanted_, best_, completed)) {
      time_ -= known->steps;
      steps_ += known->steps;
      wanted_.latencyInter = known->latency;
      completed_.add(completed);
      return;
    }
  }
  const std::int64_t before = time_;
  const std::int64_t records = records_;
  const std::uint64_t free = space_.freeHash();
  const Completed outside = completed_;
  completed_ = {};
  explore();
  // Only what was explored to the end, improved nothing and left everything as it was, down to the rounding.
  if (time_ > 0 && records == records_ && free == space_.freeHash() && (whole || completed_.channels == 0))
    memory_.explored.add(state, before - time_, wanted_.latencyInter, completed_.after(-wanted_.nHops));
  completed_.add(outside);
}

}  // namespace xylem
