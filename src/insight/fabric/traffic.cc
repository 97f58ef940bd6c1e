#include "insight/fabric/traffic.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"

namespace xylem::fabric {
namespace {

constexpr ByTraffic<search::GraphKind> kGraphs = {search::GraphKind::kRing, search::GraphKind::kTree};

class TrafficMaker {
 public:
  TrafficMaker(const connect::Connections& connections, const paths::ReachOptions& reach)
      : c_(connections), choice_(connections, reach) {
    for (std::size_t view = 0; view < c_.job.views.size(); ++view) addNics(static_cast<int>(view));
  }

  Traffic make() && {
    // Channels that are copies of the same channel of the search, and use the same of the two trees, carry
    // the same flows. Add the flows of one channel per kind, weighted with the number of channels of that
    // kind.
    std::map<int, std::set<int>> kinds;  // by source: its channels
    const connect::ChannelCounts& channels = c_.of(0).channels;
    const int count = channels.collective;
    for (int channel = 0; channel < count; ++channel)
      kinds[channels.source[static_cast<std::size_t>(channel)]].insert(channel);
    std::map<int, std::set<int>> rings;  // by channel of the search: rings do not depend on the tree
    for (const auto& [source, alike] : kinds) rings[source % c_.searched].insert(alike.begin(), alike.end());
    for (const auto& [searched, alike] : rings) addRing(alike, static_cast<double>(alike.size()) / count);
    for (const auto& [source, alike] : kinds) addTree(alike, static_cast<double>(alike.size()) / count);
    for (int kind = 0; kind < kTrafficKinds; ++kind) {
      auto& flows = traffic_.flows[static_cast<std::size_t>(kind)];
      for (const auto& [ends, sum] : sums_[static_cast<std::size_t>(kind)])
        flows.push_back({std::get<0>(ends), std::get<1>(ends), std::get<2>(ends), std::get<3>(ends),
                         sum.bytes, sum.channels});
    }
    return std::move(traffic_);
  }

 private:
  void addNics(int view) {
    const connect::RankView& of = c_.job.views[static_cast<std::size_t>(view)];
    firstNic_.push_back(static_cast<int>(traffic_.nics.size()));
    for (topology::NodeId id : of.system->nodes(topology::NodeType::kNet)) {
      const topology::Net& net = of.system->net(id);
      traffic_.nics.push_back({view, of.system->position(id), net.name, net.dev, net.bandwidth, {}});
    }
    for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
      const search::ChannelGraph& graph = (*of.graphs)[kGraphs[kind]];
      for (int channel = 0; channel < std::min(c_.searched, graph.nChannels); ++channel)
        for (int net : std::set<int>{graph.startNet(channel), graph.endNet(channel)})
          if (net >= 0)
            traffic_.nics[static_cast<std::size_t>(firstNic_.back() + net)].planned[kind] +=
                c_.merged[kGraphs[kind]].bwInter;
    }
  }

  bool sameNode(int a, int b) const {
    return c_.nodes.ofRank[static_cast<std::size_t>(a)] == c_.nodes.ofRank[static_cast<std::size_t>(b)];
  }

  int nicOf(int rank, const std::optional<connect::NetEnd>& end) const {
    if (!end || end->net == topology::kNoNode)
      throw Error(ResultCode::kInvalidArgument,
                  "rank {} on host {} has to send or receive over the network and reaches no NIC: its "
                  "topology file needs one (xylem lint)",
                  rank, c_.job.hostOf(rank));
    const int view = c_.job.viewOf(rank);
    return firstNic_[static_cast<std::size_t>(view)] +
           c_.job.views[static_cast<std::size_t>(view)].system->position(end->net);
  }

  // The channels are alike: their first one tells the ends of all.
  void add(int kind, const std::set<int>& channels, int from, int to, double bytes) {
    const int channel = *channels.begin();
    const auto endOf = [&](int rank, int peer, paths::Direction direction) {
      return kind == kRingTraffic ? choice_.ringEnd(rank, channel, peer, direction)
                                  : choice_.treeEnd(rank, channel, peer, direction);
    };
    const auto out = endOf(from, to, paths::Direction::kSend);
    const auto in = endOf(to, from, paths::Direction::kReceive);
    if (!out && !in) return;  // nodes of one host that reach each other without the network
    Sum& sum = sums_[static_cast<std::size_t>(kind)]
                    [{c_.job.hostOf(from), nicOf(from, out), c_.job.hostOf(to), nicOf(to, in)}];
    sum.bytes += bytes;
    for (const int alike : channels) sum.channels |= std::uint64_t{1} << alike;
  }

  // In a ring of n ranks each rank sends (n-1)/n of the data twice: once to reduce it, once to distribute it.
  void addRing(const std::set<int>& channels, double part) {
    const std::vector<int> ring = connect::ringOf(c_, *channels.begin());
    const auto ranks = static_cast<double>(ring.size());
    const double bytes = part * 2 * (ranks - 1) / ranks;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int next = ring[(i + 1) % ring.size()];
      if (!sameNode(ring[i], next)) add(kRingTraffic, channels, ring[i], next, bytes);
    }
  }

  // In a tree all data goes up to be reduced, and down again.
  void addTree(const std::set<int>& channels, double part) {
    for (int rank = 0; rank < c_.job.ranks(); ++rank) {
      const int up = connect::treeOf(c_, rank, *channels.begin()).up;
      if (up < 0 || sameNode(rank, up)) continue;
      add(kTreeTraffic, channels, rank, up, part);
      add(kTreeTraffic, channels, up, rank, part);
    }
  }

  const connect::Connections& c_;
  connect::NetChoice choice_;
  Traffic traffic_;
  std::vector<int> firstNic_;  // by view
  struct Sum {
    double bytes = 0;
    std::uint64_t channels = 0;
  };
  ByTraffic<std::map<std::tuple<int, int, int, int>, Sum>> sums_;
};

}  // namespace

const char* trafficName(int kind) { return kind == kRingTraffic ? "Ring" : "Tree"; }

Traffic trafficOf(const connect::Connections& connections, const paths::ReachOptions& reach) {
  return TrafficMaker(connections, reach).make();
}

}  // namespace xylem::fabric
