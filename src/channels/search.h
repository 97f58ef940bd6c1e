#pragma once
// The recursive search: depth first over orders of GPUs, channel after channel, within a budget of steps.
//
//   Search search(space, wanted, best);   // `wanted` says pattern, bandwidths, types; `best` is improved in
//   place std::int64_t left = search.run(budget);   // -1: a solution with all channels wanted; 0: out of
//   budget
//
// Both graphs come with room for kMaxChannels channels. The order of candidates, the budget and the rounding
// of bandwidths decide which solution is found first, so they are part of the result.

#include <array>
#include <cstdint>
#include <vector>

#include "channels/channel_graph.h"
#include "channels/explored.h"
#include "channels/search_space.h"

namespace xylem {

class Search {
 public:
  // `explored` is working memory, cleared here and worth keeping between searches.
  Search(SearchSpace& space, ChannelGraph& wanted, ChannelGraph& best, Explored& explored);

  // Returns what is left of the budget, or kPerfect.
  std::int64_t run(std::int64_t budget);
  static constexpr std::int64_t kPerfect = -1;

  // Entries of the recursion so far, over all budgets.
  std::int64_t steps() const { return steps_; }

 private:
  // In which order the GPUs behind a GPU are tried.
  enum class Order { kFree, kPci, kReplay };
  // A start from nowhere, for channels that do not begin at a NET.
  static constexpr int kNowhere = -1;

  void nextChannel(std::int64_t& time);
  void exploreChannel(std::int64_t& time);
  void spend(std::int64_t steps, std::int64_t& time);
  void exploreStep(int gpu, int position, int backToNet, int backToFirst, Order order, std::int64_t& time);
  std::uint64_t channelState() const;
  std::uint64_t stepState(int gpu, int position, int backToNet, int backToFirst) const;
  void startFromNets(std::int64_t& time);
  void startTreeOrRing(int net, int demand, std::int64_t& time);
  void startFromHead(int net, std::int64_t& time, bool& found);
  void startAt(int net, int gpu, Order order, std::int64_t& time);
  void step(int gpu, int position, int backToNet, int backToFirst, Order order, std::int64_t& time);
  void completeChannel(std::int64_t& time);
  void leaveToNet(int gpu, int position, int backToFirst, Order order, std::int64_t& time);
  bool mayEndAt(int net, int position) const;
  void tryNext(int gpu, int position, int backToNet, int backToFirst, Order order, std::int64_t& time);
  void visit(const Route& route, int gpu, int position, int backToNet, int backToFirst, Order order,
             std::int64_t& time);
  void appendCandidates(int gpu, int backToNet, int position);
  void rankByNet(std::size_t begin);
  void appendRingNeighbours(int gpu);
  void append(int gpu) { candidates_[candidatesEnd_++] = gpu; }
  void tryNvls(int head, std::int64_t& time);
  void tryCollnetDirect(int head, std::int64_t& time);

  bool allows(const Route& route) const;
  bool take(const Route& route, const Load& load);
  void giveBack(const Route& route, const Load& load);
  const Load& loadOf(const Route& route) const { return route.intra ? intra_ : inter_; }
  bool isBetter() const;
  void record(std::int64_t& time);
  int& gpuAt(int channel, int position);
  bool used(int gpu) const { return (used_[static_cast<std::size_t>(gpu)] >> wanted_.nChannels) & 1u; }
  void toggle(int gpu) {
    used_[static_cast<std::size_t>(gpu)] ^= std::uint64_t{1} << wanted_.nChannels;
    usedHash_[static_cast<std::size_t>(wanted_.nChannels)] ^= mixHash(1, static_cast<std::uint64_t>(gpu));
  }

  SearchSpace& space_;
  ChannelGraph& wanted_;
  ChannelGraph& best_;
  Load intra_, inter_, interHalf_;  // what a channel takes inside the host and to the NETs
  bool symmetric_ = false;          // tree patterns also send the other way
  int gpus_, nets_;
  int backToNet_ = -1, backToFirst_ = -1;  // at which position a channel leaves to a NET, or closes
  std::vector<std::uint64_t> used_;        // by GPU: the channels it is in
  std::array<std::uint64_t, kMaxChannels> usedHash_{};  // by channel: of the GPUs in it
  std::vector<int> candidates_;  // a stack: every level appends its own and removes them
  std::size_t candidatesEnd_ = 0;
  std::vector<std::uint64_t> keys_;  // of the candidates being sorted
  Explored& explored_;
  bool remembers_ = false;      // a state is all that matters to what follows it
  std::int64_t records_ = 0;    // improvements of best_ so far
  std::int64_t completed_ = 0;  // channels completed so far
  std::int64_t steps_ = 0;
};

// NCCL's limits of a search, in steps.
constexpr std::int64_t kSearchBudget = 1 << 14;
constexpr std::int64_t kSearchBudgetSameChannels = 1 << 8;
constexpr std::int64_t kSearchBudgetPciOrder = 1 << 10;
constexpr std::int64_t kSearchBudgetGlobal = 1 << 19;

}  // namespace xylem
