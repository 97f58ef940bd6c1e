#pragma once
// The way of one channel through its host, leg by leg, and what each leg takes of the links, as the search
// accounts for it.
//
//   const SearchSpace space(system, paths, locality);
//   const ChannelLoads loads(space, graph);
//   for (const ChannelLeg& leg : legsOf(space, graph, 0))
//     for (const RouteStep& step : space.stepsOf(*leg.route))
//       used[step.link] += loads.of(leg.portion).amount(step.share);          // GB/s
//
// A channel of a ring or tree starts at a NET, where the job has any, goes from GPU to GPU and leaves to a
// NET or closes. In a channel of NVLS or CollNet direct the head exchanges with all the other GPUs.

#include <array>
#include <cstdint>
#include <vector>

#include "planner/search/channel_graph.h"
#include "planner/search/search_space.h"

namespace xylem {

// Which part of a channel's bandwidth a leg carries.
enum class Portion : std::uint8_t {
  kIntra,       // all of it, inside the host
  kIntraTwice,  // an NVLS head: for itself and for the NET
  kIntraPart,   // CollNet direct: one of as many parts as there are other GPUs
  kInter,       // all of it, to or from a NET
  kInterHalf,   // a balanced tree leaves from two GPUs
};
constexpr std::size_t kPortions = 5;

struct ChannelLeg {
  NodeId from = kNoNode, to = kNoNode;
  const Route* route = nullptr;  // of the space
  Portion portion = Portion::kIntra;
};

class ChannelLoads {
 public:
  ChannelLoads(const SearchSpace& space, const ChannelGraph& graph);
  const Load& of(Portion portion) const { return loads_[static_cast<std::size_t>(portion)]; }

 private:
  std::array<Load, kPortions> loads_;
};

// In the order in which data goes. Of a graph that is none of this host's GPUs and NETs, nothing is promised.
std::vector<ChannelLeg> legsOf(const SearchSpace& space, const ChannelGraph& graph, int channel);

}  // namespace xylem
