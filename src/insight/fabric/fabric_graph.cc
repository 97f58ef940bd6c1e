#include "insight/fabric/fabric_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace xylem::fabric {
namespace {

// "spine0", or "spine0..spine3 (4)" for merged switches.
std::string nameOfGroup(const std::vector<int>& members, const Fabric& fabric) {
  const std::string& first = fabric.switches[static_cast<std::size_t>(members.front())];
  if (members.size() == 1) return first;
  return fmt::format("{}..{} ({})", first, fabric.switches[static_cast<std::size_t>(members.back())],
                     members.size());
}

}  // namespace

std::vector<int> twinSwitches(const Fabric& fabric) {
  const std::size_t count = fabric.switches.size();
  std::vector<bool> hasHosts(count, false);
  for (const FabricHost& host : fabric.hosts)
    for (const FabricPort& port : host.ports) hasHosts[static_cast<std::size_t>(port.leaf)] = true;
  using Neighbours = std::vector<std::tuple<int, double, int>>;  // switch, bandwidth, cables
  std::vector<Neighbours> neighbours(count);
  for (const FabricLink& link : fabric.links) {
    neighbours[static_cast<std::size_t>(link.a)].emplace_back(link.b, link.bandwidth, link.cables);
    neighbours[static_cast<std::size_t>(link.b)].emplace_back(link.a, link.bandwidth, link.cables);
  }
  // Switches with equal sorted neighbour lists share a group. A switch with hosts, or without any cables, is
  // always a group of its own.
  std::map<Neighbours, int> known;
  std::vector<int> groupOf(count);
  int groups = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::sort(neighbours[i].begin(), neighbours[i].end());
    int group = groups;
    if (!hasHosts[i] && !neighbours[i].empty())
      group = known.try_emplace(std::move(neighbours[i]), groups).first->second;
    groupOf[i] = group;
    groups += group == groups ? 1 : 0;
  }
  return groupOf;
}

FabricGraph::FabricGraph(const Fabric& fabric) {
  const std::vector<int> groupOf = twinSwitches(fabric);
  const int groups = groupOf.empty() ? 0 : *std::max_element(groupOf.begin(), groupOf.end()) + 1;
  std::vector<std::vector<int>> members(static_cast<std::size_t>(groups));
  for (std::size_t i = 0; i < groupOf.size(); ++i)
    members[static_cast<std::size_t>(groupOf[i])].push_back(static_cast<int>(i));
  for (const std::vector<int>& group : members) names_.push_back(nameOfGroup(group, fabric));
  for (const FabricHost& host : fabric.hosts) {
    firstPort_.push_back(static_cast<int>(leafOf_.size()));
    for (const FabricPort& port : host.ports) {
      const int leaf = groupOf[static_cast<std::size_t>(port.leaf)];
      const std::string end = fmt::format("{} {}", host.name, port.nic);
      const std::string& leafName = names_[static_cast<std::size_t>(leaf)];
      leafOf_.push_back(leaf);
      links_.push_back({end, leafName, 1, port.bandwidth});
      links_.push_back({leafName, end, 1, port.bandwidth});
    }
  }
  firstInner_ = static_cast<int>(links_.size());
  edges_.resize(names_.size());
  distances_.resize(names_.size());
  addEdges(fabric, groupOf);
}

void FabricGraph::addEdges(const Fabric& fabric, const std::vector<int>& groupOf) {
  std::map<std::tuple<int, int, double>, std::int64_t> cables;
  for (const FabricLink& link : fabric.links) {
    const int a = groupOf[static_cast<std::size_t>(link.a)];
    const int b = groupOf[static_cast<std::size_t>(link.b)];
    cables[{a, b, link.bandwidth}] += link.cables;
    cables[{b, a, link.bandwidth}] += link.cables;
  }
  for (const auto& [ends, count] : cables) {
    const auto& [from, to, bandwidth] = ends;
    edges_[static_cast<std::size_t>(from)].push_back({to, links(), count});
    links_.push_back(
        {names_[static_cast<std::size_t>(from)], names_[static_cast<std::size_t>(to)], count, bandwidth});
  }
}

const std::vector<int>& FabricGraph::distancesTo(int node) {
  std::vector<int>& distance = distances_[static_cast<std::size_t>(node)];
  if (!distance.empty()) return distance;
  distance.assign(names_.size(), -1);
  std::vector<int> next = {node};
  distance[static_cast<std::size_t>(node)] = 0;
  for (std::size_t i = 0; i < next.size(); ++i)
    for (const Edge& edge : edges_[static_cast<std::size_t>(next[i])]) {
      // Breadth first from the destination. Links come in both directions, so hops count the same both ways.
      int& there = distance[static_cast<std::size_t>(edge.to)];
      if (there >= 0) continue;
      there = distance[static_cast<std::size_t>(next[i])] + 1;
      next.push_back(edge.to);
    }
  return distance;
}

int FabricGraph::distance(int fromNode, int toNode) {
  return distancesTo(toNode)[static_cast<std::size_t>(fromNode)];
}

const std::vector<LinkShare>& FabricGraph::route(int fromNode, int toNode) {
  const long long key = static_cast<long long>(fromNode) * static_cast<long long>(names_.size()) +
                        static_cast<long long>(toNode);
  const auto [at, isNew] = routes_.try_emplace(key);
  std::vector<LinkShare>& shares = at->second;
  if (!isNew || fromNode == toNode) return shares;
  const std::vector<int>& distance = distancesTo(toNode);
  int left = distance[static_cast<std::size_t>(fromNode)];
  if (left < 0) {
    routes_.erase(at);
    throw Error(ResultCode::kInvalidArgument, "the fabric has no way from {} to {}",
                names_[static_cast<std::size_t>(fromNode)], names_[static_cast<std::size_t>(toNode)]);
  }
  // Walk towards the destination one hop at a time. `here` has the nodes at the current distance with the
  // part of the flow that arrives at each; a node spreads it over its cables to nodes that are one hop
  // nearer.
  for (std::map<int, double> here = {{fromNode, 1.0}}; left > 0; --left) {
    std::map<int, double> next;
    for (const auto& [node, part] : here) {
      std::int64_t cables = 0;
      const auto leadsNearer = [&](const Edge& edge) {
        return distance[static_cast<std::size_t>(edge.to)] == left - 1;
      };
      for (const Edge& edge : edges_[static_cast<std::size_t>(node)])
        if (leadsNearer(edge)) cables += edge.cables;
      for (const Edge& edge : edges_[static_cast<std::size_t>(node)]) {
        if (!leadsNearer(edge)) continue;
        const double share = part * static_cast<double>(edge.cables) / static_cast<double>(cables);
        shares.push_back({edge.link, share});
        next[edge.to] += share;
      }
    }
    here = std::move(next);
  }
  return shares;
}

}  // namespace xylem::fabric
