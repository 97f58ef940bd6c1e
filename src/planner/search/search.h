#pragma once
// One recursive search for channels: depth first over orders of GPUs, channel after channel, within a budget
// of steps. It finds what NCCL finds, in the steps NCCL counts.
//
//   const ChannelLoads loads(space, wanted);
//   const LinkCapacity capacity(space, routes, wanted, loads);
//   Search search(space, routes, capacity, loads, wanted, best, workspace);
//   const SearchOutcome outcome = search.run(kSearchBudget);     // improves `best` in place
//
// `wanted` has the pattern, the bandwidths and the limits of the channels. `wanted` and `best` have gpus and
// nets for kMaxChannels channels.
//
// search.cc is the plain search and says how it goes. search_shortcuts.cc says how most of its steps are
// charged without being taken, and why that changes nothing.

#include <array>
#include <cstdint>
#include <vector>

#include "planner/search/channel_graph.h"
#include "planner/search/link_capacity.h"
#include "planner/search/order_count.h"
#include "planner/search/search_memo.h"
#include "planner/search/search_space.h"
#include "planner/search/usable_routes.h"

namespace xylem::search {

// NCCL's limits of a search, in steps.
constexpr std::int64_t kSearchBudget = 1 << 14;
constexpr std::int64_t kSearchBudgetSameChannels = 1 << 8;
constexpr std::int64_t kSearchBudgetPciOrder = 1 << 10;
constexpr std::int64_t kSearchBudgetGlobal = 1 << 19;  // all searches of one graph together

// A GPU that may be next, and its rank by the way from the NET: smaller is better.
struct RankedGpu {
  std::uint64_t netRank = 0;
  const NextGpu* next = nullptr;
};

// A route of a channel that is a head with all other GPUs behind it.
struct HeadRoute {
  const Route* route;
  const Load* load;
  float portion;  // of the channel's bandwidth
};

// Hashes of a channel up to a position: of the set of its GPUs, and of what it took of links that several
// GPUs share.
struct Trail {
  std::uint64_t gpus = 0;
  std::uint64_t taken = 0;
};

// The memory that searches work in: each search clears it, the next one reuses it.
struct SearchWorkspace {
  SearchMemo memo;
  OrderCount orders;
  std::vector<std::uint8_t> used;       // by channel and GPU: whether the channel has been there
  std::vector<std::uint64_t> netRanks;  // by channel and GPU: how GPUs rank by the way from the NET
  std::vector<Trail> trails;            // by channel and position
  std::vector<RankedGpu> candidates;    // a stack: every GPU on the way appends its own and removes them
};

class Search {
 public:
  Search(SearchSpace& space, const UsableRoutes& routes, const LinkCapacity& capacity,
         const ChannelLoads& loads, ChannelGraph& wanted, ChannelGraph& best, SearchWorkspace& workspace);

  SearchOutcome run(std::int64_t budget);

 private:
  // The order in which the GPUs behind a GPU are tried: best first, by index, or as in the previous channel.
  enum class Order : std::uint8_t { kFree, kPci, kReplay };
  // In place of a NET, for channels that do not begin at one.
  static constexpr int kNowhere = -1;

  // search.cc: channel after channel.
  void nextChannel();
  void startChannel();
  void startFromNets();
  void startTreeOrRing(int net);
  void startInPciOrder(int net);
  void startFree(int net);
  void startAt(int net, int gpu, Order order);
  void enterChannel(int gpu, Order order);
  void completeChannel();

  // search.cc: the steps of one channel. `position`: the number of GPUs before this one. `backToNet`: the
  // position from which the channel leaves to a NET, or -1.
  void step(int gpu, int position, int backToNet);
  void closeChannel(int gpu, int position);
  void tryFree(int gpu, int position, int backToNet);
  void goOn(const Route& route, int next, int position, int backToNet, bool fits = false);
  void leaveToNet(int gpu, int position);
  bool mayEndAt(int net, int position) const;
  bool mayEndOnRails(int net, int start) const;  // where NICs name rails and planes
  void appendCandidates(int gpu);
  bool fits(const NextGpu& next) const;
  void rankByNet(std::size_t begin);
  bool allAlike(int gpu) const;

  // search.cc: channels that are a head with all other GPUs behind it.
  void startFromHead(int net, bool& found);
  void tryNvls(int head);
  void tryCollnetDirect(int head);
  void followAll(int head, const std::vector<HeadRoute>& routes);

  // Follows a route: takes its bandwidth, explores what is behind it, and gives the bandwidth back. Does
  // nothing if the route is not usable or has not enough. `fits`: it is known to be usable and to have
  // enough.
  template <typename Explore>
  void follow(const Route& route, const Load& load, const Explore& explore, bool fits = false);

  // search_shortcuts.cc: the memo, pruning, and counting in place of walking.
  template <typename Explore>
  void exploreOnce(std::uint64_t key, bool complete, const Explore& explore);
  bool pointless() const { return exact_ && progress_.left <= 0; }
  bool countOrders(int gpu, int position, int backToNet);
  void countEnds(int last, int backToNet);
  bool isLast(int first) const;
  bool mayStart(int net, int first) const;
  void extendTrail(const NextGpu& next, int position);
  std::uint64_t startKey(int net) const;
  std::uint64_t channelKey() const;
  std::uint64_t enteredKey(int net, int gpu) const;
  std::uint64_t stepKey(int gpu, int position, int backToNet) const;

  int& gpuAt(int channel, int position) { return wanted_.gpus[slot(channel, position)]; }
  int netAtStart() const { return nets_ > 0 ? wanted_.startNet(wanted_.nChannels) : kNowhere; }
  std::size_t slot(int channel, int position) const {
    return static_cast<std::size_t>(channel) * static_cast<std::size_t>(gpus_) +
           static_cast<std::size_t>(position);
  }

  SearchSpace& space_;
  const UsableRoutes& routes_;
  const LinkCapacity& capacity_;
  const ChannelLoads& loads_;
  const Load &intra_, &inter_;  // of a whole channel, inside the host and to or from a NET
  ChannelGraph& wanted_;        // also holds the channels being tried
  ChannelGraph& best_;
  SearchWorkspace& workspace_;
  int gpus_, nets_;
  int demand_;                             // whole GB/s a channel takes of its NET
  int backToNet_ = -1, backToFirst_ = -1;  // the position from which a channel leaves to a NET, or closes
  bool heads_;                             // NVLS, CollNet direct
  // Rules of the version (rules/rule_set.h).
  bool replaysOrStartsLocal_, rails_, noRouteIfApart_;
  bool exact_;       // taking and giving back leaves no trace: shortcuts are possible
  bool keepsRanks_;  // ranks by the way from the NET cannot change within a channel

  // The channel being built.
  struct Channel {
    Order order = Order::kFree;
    bool last = false;                  // no further channel can start
    std::uint64_t key = 0;              // of the state it began with
    int* gpus = nullptr;                // its order, up to the current position
    std::uint8_t* used = nullptr;       // by GPU: whether it has been there
    Trail* trail = nullptr;             // by position
    std::uint64_t* netRanks = nullptr;  // by GPU; null if they can change
  };
  Channel channel_;
  std::array<std::uint64_t, paths::kMaxChannels>
      capacityBefore_{};  // by channel: hash of the capacity at its start

  // Counts what the search does. Nothing but its budget comes back from here.
  struct Progress {
    std::int64_t left = 0;   // steps of the budget; kPerfect: all channels wanted are found
    std::int64_t steps = 0;  // over all budgets
    SearchScore score;       // of the best solution in the part being explored
    int improvements = 0;    // of best_
    bool cut = false;        // the budget of a start in PCI order ran out

    void countStep() {
      --left;
      ++steps;
    }
    void charge(std::int64_t count, const SearchScore& found) {
      left -= count;
      steps += count;
      score.keepBetter(found);
    }
  };
  Progress progress_;
  std::size_t candidatesEnd_ = 0;  // of the stack in the workspace
};

// Explores, unless an equal state is known to improve nothing: then its steps are charged. `complete`: the
// key says all that matters after a completed channel, too.
template <typename Explore>
void Search::exploreOnce(std::uint64_t key, bool complete, const Explore& explore) {
  if (!exact_) return explore();
  const SearchMemo::Entry* known = workspace_.memo.find(key);
  if (known != nullptr && known->steps < progress_.left) {
    const SearchScore score = known->score.plusHops(wanted_.nHops);
    if (!isBetter(wanted_, best_, score)) return progress_.charge(known->steps, score);
  }
  const Progress before = progress_;
  progress_.score = {};
  explore();
  const SearchScore& found = progress_.score;
  const bool ended = progress_.left > 0 && progress_.improvements == before.improvements;
  if (ended && (complete || found.channels == 0))
    workspace_.memo.add(key, before.left - progress_.left, found.plusHops(-wanted_.nHops));
  progress_.score.keepBetter(before.score);
}

// The trail up to the next GPU, which will be at `position`.
inline void Search::extendTrail(const NextGpu& next, int position) {
  const Trail& before = channel_.trail[position - 1];
  channel_.trail[position] = {before.gpus + hashWeight(static_cast<std::uint64_t>(next.gpu)),
                              before.taken + routes_.sharedWeight(*next.route)};
}

// Returns whether the route has enough. It looks first at the link that was short last time: mostly it still
// is.
inline bool Search::fits(const NextGpu& next) const {
  const FreeBandwidth& free = space_.free();
  if (!free.has(next.steps[next.fullStep], intra_)) return false;
  for (std::size_t i = 0; i < next.steps.size(); ++i) {
    if (free.has(next.steps[i], intra_)) continue;
    next.fullStep = i;
    return false;
  }
  return true;
}

}  // namespace xylem::search
