#include "insight/fabric/locality.h"

#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace xylem {
namespace {

// Between switches that no way joins.
constexpr long long kFar = 1 << 20;

// The switch of every NIC, by NIC; -1 for NICs that a site does not have.
std::vector<int> leavesOf(const Sites& sites, const FabricGraph& network, int site, std::size_t nics) {
  std::vector<int> leaves(nics, -1);
  for (std::size_t nic = 0; nic < nics; ++nic)
    if (const auto& ports = sites.ports(site, static_cast<int>(nic)); !ports.empty())
      leaves[nic] = network.leaf(ports.front());
  return leaves;
}

// Sites that send through different NICs, as those of different shapes, are compared NIC by NIC in order.
long long distance(const std::vector<int>& a, const std::vector<int>& b, FabricGraph& network) {
  long long sum = 0;
  for (std::size_t i = 0, j = 0;; ++i, ++j) {
    while (i < a.size() && a[i] < 0) ++i;
    while (j < b.size() && b[j] < 0) ++j;
    if (i >= a.size() || j >= b.size()) return sum;
    const int hops = network.distance(a[i], b[j]);
    sum += hops < 0 ? kFar : hops;
  }
}

}  // namespace

std::vector<int> kindsOfSites(const Sites& sites, const FabricGraph& network, const Job& job,
                              const Traffic& traffic) {
  using Key = std::vector<std::tuple<int, int, double>>;  // NIC, switch, GB/s
  std::map<std::pair<int, Key>, int> known;
  std::vector<int> kinds;
  for (int site = 0; site < sites.count(); ++site) {
    Key key;
    for (int nic = 0; nic < static_cast<int>(traffic.nics.size()); ++nic)
      for (int port : sites.ports(site, nic))
        key.emplace_back(nic, network.leaf(port), network.link(network.outOf(port)).bandwidth);
    const int shape = job.shapeOfHost[static_cast<std::size_t>(site)];
    kinds.push_back(known.try_emplace({shape, std::move(key)}, static_cast<int>(known.size())).first->second);
  }
  return kinds;
}

std::vector<int> orderByLocality(const Sites& sites, FabricGraph& network, const std::vector<int>& kindOf,
                                 const Traffic& traffic) {
  std::vector<std::vector<int>> members;
  std::vector<std::vector<int>> leaves;
  for (int site = 0; site < sites.count(); ++site) {
    const auto kind = static_cast<std::size_t>(kindOf[static_cast<std::size_t>(site)]);
    if (kind == members.size()) {
      members.emplace_back();
      leaves.push_back(leavesOf(sites, network, site, traffic.nics.size()));
    }
    members[kind].push_back(site);
  }
  std::vector<int> order;
  std::vector<bool> done(members.size(), false);
  for (std::size_t here = 0, left = members.size(); left > 0; --left) {
    done[here] = true;
    order.insert(order.end(), members[here].begin(), members[here].end());
    std::size_t nearest = here;
    long long least = std::numeric_limits<long long>::max();
    for (std::size_t other = 0; other < members.size(); ++other) {
      if (done[other]) continue;
      const long long far = distance(leaves[here], leaves[other], network);
      if (far < least) {
        least = far;
        nearest = other;
      }
    }
    here = nearest;
  }
  return order;
}

}  // namespace xylem
