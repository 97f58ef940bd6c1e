#pragma once
// The search for channels in its plainest form: it takes every step, keeps every bandwidth as a float, and
// remembers nothing. The searches of src/planner/search have to agree with it, down to the number of steps.
//
//   PlainHost host(system, paths, locality, crossNic);
//   ChannelGraph ring = host.compute({.id = 0, .pattern = Pattern::kRing});

#include <vector>

#include "planner/search/channel_search.h"

namespace xylem::testing {

// One recursive search. The bandwidths that it leaves behind are those of the next one.
class PlainSearch {
 public:
  PlainSearch(const topology::System& system, const paths::PathTable& paths, const paths::Locality& locality);

  // Improves `best` and returns what is left of the budget, -1 for a perfect solution.
  std::int64_t run(search::ChannelGraph& wanted, search::ChannelGraph& best, std::int64_t budget);
  std::int64_t steps() const { return steps_; }

 private:
  enum class Order { kFree, kPci, kReplay };
  using Time = std::int64_t;

  // Channel after channel. `time`: the steps left.
  void channel(Time& time);
  void fromNets(Time& time);
  void start(topology::NodeId from, int gpu, Order order, Time& time);
  // The steps of one channel, as in search.h.
  void step(int gpu, int position, int backToNet, int backToFirst, Order order, Time& time);
  void complete(Time& time);
  void toNet(int gpu, int position, int backToFirst, Order order, Time& time);
  void nvls(int head, Time& time);
  void collnetDirect(int head, Time& time);
  bool better() const;
  // The GPUs to try behind one, and the NETs to try for one (or all, -1), best first.
  std::vector<int> nextGpus(int gpu, int position, int backToNet) const;
  std::vector<int> netList(int gpu) const;
  // Takes (or gives back, if `times` is negative) a channel's bandwidth from all links of a path. Returns
  // false, and takes nothing, if the path is too far or a link has not enough.
  bool follow(topology::NodeId from, topology::NodeId to, float times);
  bool takeLinks(topology::NodeId from, topology::NodeId to, float amount, float pciAmount,
                 std::size_t count);

  topology::NodeId gpu(int i) const { return system_.node(topology::NodeType::kGpu, i); }
  topology::NodeId net(int i) const { return system_.node(topology::NodeType::kNet, i); }
  int& order(int channel, int position);

  const topology::System& system_;
  const paths::PathTable& paths_;
  const paths::Locality& locality_;
  int gpus_, nets_;
  std::vector<float> linkBandwidth_, netBandwidth_;
  std::vector<std::uint64_t> used_;  // by GPU: the channels that hold it, a bit each
  search::ChannelGraph* wanted_ = nullptr;
  search::ChannelGraph* best_ = nullptr;
  std::int64_t steps_ = 0;
};

// All graphs of a host, one after the other.
class PlainHost {
 public:
  PlainHost(const topology::System& system, const paths::PathTable& paths, const paths::Locality& locality,
            int crossNic);
  search::ChannelGraph compute(const search::GraphRequest& request);

 private:
  const topology::System& system_;
  const paths::PathTable& paths_;
  int crossNic_;
  PlainSearch search_;
  float maxBandwidth_ = 0, totalBandwidth_ = 0;
};

}  // namespace xylem::testing
