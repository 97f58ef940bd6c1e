#pragma once
// The load that a job's flows put on every link of a fabric, for one order of the job's hosts. Swapping two
// hosts updates only the flows that start or end at one of them.
//
//   Congestion congestion(traffic, attachments, network, {0, 2, 1, 3});  // order: the host at each place
//   congestion.swap(0, 3);                                               // the hosts at places 0 and 3
//   congestion.bytes(kRingTraffic, link)  // on all cables of the link, per byte of the AllReduce

#include <vector>

#include "insight/fabric/attachments.h"
#include "insight/fabric/fabric_graph.h"
#include "insight/fabric/traffic.h"

namespace xylem::fabric {

class Congestion {
 public:
  Congestion(const Traffic& traffic, const Attachments& attachments, FabricGraph& network,
             std::vector<int> order);

  const std::vector<int>& order() const { return order_; }
  // Adds up all flows again, without the rounding errors that swaps accumulate.
  void reorder(const std::vector<int>& order);
  void swap(int place, int other);

  double bytes(int kind, int link) const {
    return bytes_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(link)];
  }
  // Seconds per GB of the AllReduce that the link's cables need for their bytes.
  double time(int kind, int link) const {
    return bytes(kind, link) * inverse_[static_cast<std::size_t>(link)];
  }
  // Counts additions to links: a measure of the work done that does not depend on the machine's speed.
  long long work() const { return work_; }

 private:
  void add(int kind, const Flow& flow, double sign);

  const Traffic& traffic_;
  const Attachments& sites_;
  FabricGraph& network_;
  std::vector<int> order_;
  ByTraffic<std::vector<double>> bytes_;              // by link
  std::vector<double> inverse_;                       // by link: 1 / (bandwidth of all its cables)
  ByTraffic<std::vector<std::vector<int>>> flowsOf_;  // by place: indices of flows that start or end there
  ByTraffic<std::vector<char>> touched_;              // by flow: used within swap()
  long long work_ = 0;
};

// Calls `use(link, part)` for every link that a flow crosses; `part` is the share of the flow on all cables
// of that link together. The ports of a NIC carry equal shares. If both NICs have the same number of ports,
// port i sends to port i; otherwise every port sends to every port.
template <typename Use>
void eachLinkOf(const Flow& flow, const std::vector<int>& order, const Attachments& attachments,
                FabricGraph& network, const Use& use) {
  const std::vector<int>& from = attachments.ports(order[static_cast<std::size_t>(flow.from)], flow.fromNic);
  const std::vector<int>& to = attachments.ports(order[static_cast<std::size_t>(flow.to)], flow.toNic);
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

}  // namespace xylem::fabric
