#include "insight/fabric/congestion.h"

#include <utility>

namespace xylem::fabric {

Congestion::Congestion(const Traffic& traffic, const Attachments& attachments, FabricGraph& network,
                       std::vector<int> order)
    : traffic_(traffic), sites_(attachments), network_(network) {
  for (int link = 0; link < network.links(); ++link)
    inverse_.push_back(1 / (network.link(link).bandwidth * static_cast<double>(network.link(link).cables)));
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    const std::vector<Flow>& flows = traffic.flows[kind];
    touched_[kind].assign(flows.size(), 0);
    flowsOf_[kind].resize(order.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flowsOf_[kind][static_cast<std::size_t>(flows[i].from)].push_back(static_cast<int>(i));
      if (flows[i].to != flows[i].from)
        flowsOf_[kind][static_cast<std::size_t>(flows[i].to)].push_back(static_cast<int>(i));
    }
  }
  reorder(order);
}

void Congestion::reorder(const std::vector<int>& order) {
  order_ = order;
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    bytes_[kind].assign(static_cast<std::size_t>(network_.links()), 0.0);
    for (const Flow& flow : traffic_.flows[kind]) add(static_cast<int>(kind), flow, 1);
  }
}

void Congestion::add(int kind, const Flow& flow, double sign) {
  std::vector<double>& bytes = bytes_[static_cast<std::size_t>(kind)];
  eachLinkOf(flow, order_, sites_, network_, [&](int link, double part) {
    bytes[static_cast<std::size_t>(link)] += sign * part * flow.bytes;
    ++work_;
  });
}

void Congestion::swap(int place, int other) {
  const auto addBoth = [&](double sign, char mark) {
    for (std::size_t kind = 0; kind < kTrafficKinds; ++kind)
      for (int p : {place, other})
        for (int i : flowsOf_[kind][static_cast<std::size_t>(p)]) {
          // A flow between the two places is in both lists, but must be added only once per pass. The first
          // pass sets the marks, the second one clears them.
          char& touched = touched_[kind][static_cast<std::size_t>(i)];
          if (touched == mark) continue;
          touched = mark;
          add(static_cast<int>(kind), traffic_.flows[kind][static_cast<std::size_t>(i)], sign);
        }
  };
  // Remove the flows of both places from their old links, then add them to the new ones.
  addBoth(-1, 1);
  std::swap(order_[static_cast<std::size_t>(place)], order_[static_cast<std::size_t>(other)]);
  addBoth(1, 0);
}

}  // namespace xylem::fabric
