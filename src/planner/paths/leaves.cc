#include "planner/paths/leaves.h"

#include <algorithm>

namespace xylem {
namespace {

struct End {
  NodeId other;
  bool out;
  LinkType type;
  float bandwidth;
  bool operator==(const End&) const = default;
};

// By GPU: its links, both ways, in order.
std::vector<std::vector<End>> endsOf(const System& system) {
  std::vector<std::vector<End>> ends(static_cast<std::size_t>(system.count(NodeType::kGpu)));
  const auto add = [&](NodeId gpu, const End& end) {
    ends[static_cast<std::size_t>(system.position(gpu))].push_back(end);
  };
  for (const Link& link : system.links()) {
    if (system.type(link.from) == NodeType::kGpu) add(link.from, {link.to, true, link.type, link.bandwidth});
    if (system.type(link.to) == NodeType::kGpu) add(link.to, {link.from, false, link.type, link.bandwidth});
  }
  return ends;
}

bool isLeaf(const System& system, const std::vector<End>& ends) {
  return !ends.empty() && system.type(ends.front().other) != NodeType::kGpu &&
         std::all_of(ends.begin(), ends.end(),
                     [&](const End& end) { return end.other == ends.front().other; });
}

}  // namespace

std::vector<std::vector<NodeId>> alikeGpus(const System& system) {
  const std::vector<std::vector<End>> ends = endsOf(system);
  std::vector<std::vector<NodeId>> groups;
  std::vector<std::size_t> leaves;  // groups of GPUs that may be alike
  for (NodeId gpu : system.nodes(NodeType::kGpu)) {
    const auto& mine = ends[static_cast<std::size_t>(system.position(gpu))];
    const bool leaf = isLeaf(system, mine);
    const auto known = std::find_if(leaves.begin(), leaves.end(), [&](std::size_t group) {
      return mine == ends[static_cast<std::size_t>(system.position(groups[group].front()))];
    });
    if (leaf && known != leaves.end()) {
      groups[*known].push_back(gpu);
      continue;
    }
    if (leaf) leaves.push_back(groups.size());
    groups.push_back({gpu});
  }
  return groups;
}

}  // namespace xylem
