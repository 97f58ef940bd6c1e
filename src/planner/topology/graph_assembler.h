#pragma once
// The machine's graph under construction: nodes can come and go, and links can move. freeze() turns it into
// the immutable System.
//
//   GraphAssembler graph;
//   Handle cpu = graph.addCpu(NodeKey::of(0, 0), element, {...});
//   Handle gpu = graph.addGpu(NodeKey::of(0, 0x1b000), element, {...});
//   graph.connect(gpu, cpu, LinkType::kPci, 12.0f);
//
// The links of a node are in order of descending bandwidth, later ones behind equal ones. This order decides
// ties in the path search and the channel search.

#include <array>
#include <unordered_map>
#include <vector>

#include "planner/topology/system.h"

namespace xylem::topology {

class GraphAssembler {
 public:
  using Handle = std::int32_t;
  static constexpr Handle kNone = -1;

  struct HalfLink {
    Handle to = kNone;
    LinkType type = LinkType::kLoc;
    float bandwidth = 0;
  };

  Handle addGpu(NodeKey key, ElementId element, const Gpu& gpu);
  Handle addPci(NodeKey key, ElementId element, const Pci& pci);
  Handle addCpu(NodeKey key, ElementId element, const Cpu& cpu);
  Handle addNet(NodeKey key, ElementId element, const Net& net);
  Handle addPlain(NodeType type, NodeKey key, ElementId element);  // NVS and NIC

  // The first node of this type with this key, or kNone.
  Handle find(NodeType type, NodeKey key) const;
  // The nodes of a type in their order.
  const std::vector<Handle>& nodes(NodeType type) const { return order_[static_cast<std::size_t>(type)]; }
  NodeType type(Handle node) const { return nodes_[at(node)].type; }
  NodeKey key(Handle node) const { return nodes_[at(node)].key; }
  ElementId element(Handle node) const { return nodes_[at(node)].element; }
  std::vector<HalfLink>& links(Handle node) { return links_[at(node)]; }
  const std::vector<HalfLink>& links(Handle node) const { return links_[at(node)]; }
  const Gpu& gpu(Handle node) const { return gpus_[payload_[at(node)]]; }
  const Cpu& cpu(Handle node) const { return cpus_[payload_[at(node)]]; }
  Pci& pci(Handle node) { return pcis_[payload_[at(node)]]; }

  // Adds bandwidth to the link of this type from `from` to `to`, and creates the link if there is none.
  void connect(Handle from, Handle to, LinkType type, float bandwidth);
  // Removes a node and every link to it; the order of all others stays.
  void remove(Handle node);
  // Moves each node's link to its parent to the end of the node's links, from every CPU down the PCI tree.
  void sortLinks();

  void noteOverride(const LinkOverride& given) { overrides_.push_back(given); }

  System freeze(std::shared_ptr<const rules::RuleSet> rules) const;

 private:
  static std::size_t at(Handle node) { return static_cast<std::size_t>(node); }
  Handle add(NodeType type, NodeKey key, ElementId element, std::size_t payload);
  void sortBelow(Handle node, Handle parent);

  std::array<std::vector<Handle>, kNodeTypes> order_;
  std::array<std::unordered_map<std::uint64_t, Handle>, kNodeTypes> byKey_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> payload_;  // index into the vector of the node's type
  std::vector<std::vector<HalfLink>> links_;
  std::vector<LinkOverride> overrides_;
  std::vector<Gpu> gpus_;
  std::vector<Pci> pcis_;
  std::vector<Cpu> cpus_;
  std::vector<Net> nets_;
};

}  // namespace xylem::topology
