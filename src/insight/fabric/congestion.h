#pragma once
// What the flows of a job put on every link of a fabric when its hosts stand in some order, kept up to date
// while hosts change places.
//
//   Congestion congestion(traffic, sites, network, {0, 2, 1, 3});   // order: by place, who stands there
//   congestion.swap(0, 3);
//   congestion.bytes(kRingTraffic, link)                            // per byte of the AllReduce, all cables

#include <vector>

#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/sites.h"
#include "insight/fabric/traffic.h"

namespace xylem {

class Congestion {
 public:
  Congestion(const Traffic& traffic, const Sites& sites, FabricGraph& network, std::vector<int> order);

  const std::vector<int>& order() const { return order_; }
  // Exact where swaps leave errors of rounding behind.
  void reorder(const std::vector<int>& order);
  void swap(int place, int other);

  double bytes(int kind, int link) const {
    return bytes_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(link)];
  }
  // Seconds per GB of the AllReduce that its cables take.
  double time(int kind, int link) const {
    return bytes(kind, link) * inverse_[static_cast<std::size_t>(link)];
  }
  // What was added to links so far: a measure of the work done that does not depend on the machine.
  long long work() const { return work_; }

 private:
  void add(int kind, const Flow& flow, double sign);

  const Traffic& traffic_;
  const Sites& sites_;
  FabricGraph& network_;
  std::vector<int> order_;
  ByTraffic<std::vector<double>> bytes_;                // by link
  std::vector<double> inverse_;                         // by link: of all its cables' bandwidth
  ByTraffic<std::vector<std::vector<int>>> flowsOf_;  // by place: those that start or end there
  ByTraffic<std::vector<char>> touched_;                // by flow
  long long work_ = 0;
};

// Calls `use(link, part)` for every link that a flow takes; parts of the flow, over all cables of a link.
// Ports of a NIC share it evenly: each sends to the one of the same number, where both sides have as many.
template <typename Use>
void eachLinkOf(const Flow& flow, const std::vector<int>& order, const Sites& sites, FabricGraph& network,
                const Use& use) {
  const std::vector<int>& from = sites.ports(order[static_cast<std::size_t>(flow.from)], flow.fromNic);
  const std::vector<int>& to = sites.ports(order[static_cast<std::size_t>(flow.to)], flow.toNic);
  const auto pair = [&](int a, int b, double part) {
    use(network.outOf(a), part);
    for (const LinkShare& share : network.route(network.leaf(a), network.leaf(b)))
      use(share.link, part * share.part);
    use(network.into(b), part);
  };
  if (from.size() == to.size()) {
    for (std::size_t i = 0; i < from.size(); ++i)
      pair(from[i], to[i], 1.0 / static_cast<double>(from.size()));
    return;
  }
  for (int a : from)
    for (int b : to) pair(a, b, 1.0 / static_cast<double>(from.size() * to.size()));
}

}  // namespace xylem
