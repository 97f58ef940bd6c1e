#include "cli/insight/order_words.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace xylem::cli {

std::vector<std::string> namesInOrder(const HostOrder& order, const OrderedHosts& hosts) {
  std::vector<std::string> names;
  for (int site : hosts.order) names.push_back(order.sites->name(site));
  return names;
}

std::vector<int> ranksInOrder(const Plan& plan, const OrderedHosts& hosts) {
  std::vector<int> ranks;
  for (int site : hosts.order) ranks.push_back(plan.job().shapeOf(site).ranks());
  return ranks;
}

double oversubscription(const Fabric& fabric) {
  std::vector<double> down(fabric.switches.size(), 0);
  std::vector<double> up(fabric.switches.size(), 0);
  for (const FabricHost& host : fabric.hosts)
    for (const FabricPort& port : host.ports) down[static_cast<std::size_t>(port.leaf)] += port.bandwidth;
  for (const FabricLink& link : fabric.links)
    for (int end : {link.a, link.b}) up[static_cast<std::size_t>(end)] += link.bandwidth * link.cables;
  double most = 0;
  for (std::size_t i = 0; i < down.size(); ++i) {
    if (down[i] <= 0) continue;
    most = std::max(most, up[i] > 0 ? down[i] / up[i] : std::numeric_limits<double>::infinity());
  }
  return most;
}

std::vector<BusyLink> busyLinks(const OrderReport& report, const OrderedHosts& hosts, int kind) {
  FabricGraph& network = *report.order.network;
  const Sites& sites = *report.order.sites;
  const Congestion congestion(hosts.traffic, sites, network, hosts.order);
  std::vector<int> links = busiestLinks(congestion, network, kind);
  links.resize(std::min(links.size(), static_cast<std::size_t>(report.links)));
  std::vector<std::vector<Crossing>> who = crossings(hosts.traffic, kind, hosts.order, sites, network, links);
  const double quiet = hosts.score[static_cast<std::size_t>(kind)].quiet;
  std::vector<BusyLink> busy;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (who[i].empty()) break;
    const NetworkLink& link = network.link(links[i]);
    busy.push_back({&link, congestion.bytes(kind, links[i]) / static_cast<double>(link.cables),
                    congestion.time(kind, links[i]) / quiet, std::move(who[i])});
  }
  return busy;
}

}  // namespace xylem::cli
