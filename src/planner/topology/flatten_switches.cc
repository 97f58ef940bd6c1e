#include "planner/topology/flatten_switches.h"

#include <algorithm>

namespace xylem {
namespace {

using Handle = GraphAssembler::Handle;
using HalfLink = GraphAssembler::HalfLink;

// The chip families by their device word (vendor, device, subsystem), lowest 12 bits masked off.
constexpr std::uint64_t kFamilyMask = ~0xfffull;
constexpr std::uint64_t kGeneration4 = 0x1000c0101000a000;
constexpr std::uint64_t kGeneration5 = 0x1000c03010000000;
constexpr std::uint64_t kGeneration5Level = 0x1000;
// Marks a flattened switch, so that it does not match again.
constexpr std::uint64_t kFlattened = 0xffff;

// 4 or 5, or 0 for another device. Generation 4 does not tell the levels apart.
int generation(std::uint64_t device, int level) {
  const std::uint64_t family = device & kFamilyMask;
  if (family == kGeneration4) return 4;
  if (family == (kGeneration5 | (static_cast<std::uint64_t>(level) * kGeneration5Level))) return 5;
  return 0;
}

// Hangs what is below `sub` under `parent` and removes `sub`.
void absorb(GraphAssembler& graph, Handle parent, Handle sub) {
  for (const HalfLink& link : graph.links(sub)) {
    if (link.to == parent) continue;
    graph.links(parent).push_back(link);
    auto& back = graph.links(link.to);
    const auto up = std::find_if(back.begin(), back.end(), [&](const HalfLink& l) { return l.to == sub; });
    if (up != back.end()) up->to = parent;
  }
  graph.remove(sub);
}

bool flattenFirst(GraphAssembler& graph) {
  for (Handle parent : graph.nodes(NodeType::kPci)) {
    const int gen = generation(graph.pci(parent).device, 0);
    if (gen == 0) continue;
    std::vector<Handle> subs;
    std::erase_if(graph.links(parent), [&](const HalfLink& link) {
      const bool inner =
          graph.type(link.to) == NodeType::kPci && generation(graph.pci(link.to).device, 1) == gen;
      if (inner) subs.push_back(link.to);
      return inner;
    });
    for (Handle sub : subs) absorb(graph, parent, sub);
    graph.pci(parent).device |= kFlattened;
    return true;
  }
  return false;
}

}  // namespace

void flattenBroadcomSwitches(GraphAssembler& graph) {
  while (flattenFirst(graph)) {
  }
}

}  // namespace xylem
