#include "planner/topology/graph_assembler.h"

#include <algorithm>

namespace xylem::topology {

GraphAssembler::Handle GraphAssembler::add(NodeType type, NodeKey key, ElementId element,
                                           std::size_t payload) {
  const auto handle = static_cast<Handle>(nodes_.size());
  nodes_.push_back({type, key, element});
  payload_.push_back(payload);
  links_.emplace_back();
  order_[static_cast<std::size_t>(type)].push_back(handle);
  byKey_[static_cast<std::size_t>(type)].emplace(key.value, handle);  // the first node with a key is found
  return handle;
}

GraphAssembler::Handle GraphAssembler::addGpu(NodeKey key, ElementId element, const Gpu& gpu) {
  gpus_.push_back(gpu);
  return add(NodeType::kGpu, key, element, gpus_.size() - 1);
}

GraphAssembler::Handle GraphAssembler::addPci(NodeKey key, ElementId element, const Pci& pci) {
  pcis_.push_back(pci);
  return add(NodeType::kPci, key, element, pcis_.size() - 1);
}

GraphAssembler::Handle GraphAssembler::addCpu(NodeKey key, ElementId element, const Cpu& cpu) {
  cpus_.push_back(cpu);
  return add(NodeType::kCpu, key, element, cpus_.size() - 1);
}

GraphAssembler::Handle GraphAssembler::addNet(NodeKey key, ElementId element, const Net& net) {
  nets_.push_back(net);
  return add(NodeType::kNet, key, element, nets_.size() - 1);
}

GraphAssembler::Handle GraphAssembler::addPlain(NodeType type, NodeKey key, ElementId element) {
  return add(type, key, element, 0);
}

GraphAssembler::Handle GraphAssembler::find(NodeType type, NodeKey key) const {
  const auto& map = byKey_[static_cast<std::size_t>(type)];
  const auto found = map.find(key.value);
  return found == map.end() ? kNone : found->second;
}

void GraphAssembler::connect(Handle from, Handle to, LinkType type, float bandwidth) {
  std::vector<HalfLink>& links = links_[at(from)];
  auto link = std::find_if(links.begin(), links.end(),
                           [&](const HalfLink& l) { return l.to == to && l.type == type; });
  if (link == links.end()) link = links.insert(links.end(), HalfLink{to, type, 0.0f});
  link->bandwidth += bandwidth;
  // Insertion sort: the link moves before all links that are now narrower.
  while (link != links.begin() && (link - 1)->bandwidth < link->bandwidth) {
    std::iter_swap(link - 1, link);
    --link;
  }
}

void GraphAssembler::remove(Handle node) {
  for (auto& links : links_) std::erase_if(links, [&](const HalfLink& l) { return l.to == node; });
  links_[at(node)].clear();
  auto& order = order_[static_cast<std::size_t>(type(node))];
  order.erase(std::find(order.begin(), order.end(), node));
  byKey_[static_cast<std::size_t>(type(node))].erase(key(node).value);
}

void GraphAssembler::sortLinks() {
  for (Handle cpu : nodes(NodeType::kCpu)) sortBelow(cpu, kNone);
}

void GraphAssembler::sortBelow(Handle node, Handle parent) {
  std::vector<HalfLink>& links = links_[at(node)];
  if (parent != kNone) {
    const auto up =
        std::find_if(links.begin(), links.end(), [&](const HalfLink& l) { return l.to == parent; });
    if (up != links.end()) std::rotate(up, up + 1, links.end());
  }
  for (std::size_t i = 0; i < links.size(); ++i)
    if (links[i].type == LinkType::kPci && links[i].to != parent) sortBelow(links[i].to, node);
}

// Numbers the nodes type by type, then their links node by node.
System GraphAssembler::freeze(std::shared_ptr<const rules::RuleSet> rules) const {
  System system;
  system.rules_ = std::move(rules);
  system.overrides_ = overrides_;
  std::sort(system.overrides_.begin(), system.overrides_.end(),
            [](const LinkOverride& a, const LinkOverride& b) { return a.element < b.element; });
  std::vector<NodeId> ids(nodes_.size(), kNoNode);
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    for (Handle handle : order_[type]) {
      ids[at(handle)] = static_cast<NodeId>(system.nodes_.size());
      system.nodes_.push_back(nodes_[at(handle)]);
      const std::size_t payload = payload_[at(handle)];
      switch (nodes_[at(handle)].type) {
        case NodeType::kGpu:
          system.gpus_.push_back(gpus_[payload]);
          break;
        case NodeType::kPci:
          system.pcis_.push_back(pcis_[payload]);
          break;
        case NodeType::kCpu:
          system.cpus_.push_back(cpus_[payload]);
          break;
        case NodeType::kNet:
          system.nets_.push_back(nets_[payload]);
          break;
        case NodeType::kNvs:
        case NodeType::kNic:
        case NodeType::kGin:
        case NodeType::kRma:
        case NodeType::kCxb:
        case NodeType::kDev:
          break;
      }
    }
    system.first_[type + 1] = static_cast<NodeId>(system.nodes_.size());
  }
  system.devices_ = static_cast<int>(
      std::count_if(system.gpus_.begin(), system.gpus_.end(), [](const Gpu& gpu) { return gpu.place == 0; }));
  for (const Gpu& gpu : system.gpus_)
    system.lowestDeviceSm_ = system.lowestDeviceSm_ == 0 ? gpu.sm : std::min(system.lowestDeviceSm_, gpu.sm);
  system.firstLink_.clear();
  for (const auto& order : order_) {
    for (Handle handle : order) {
      system.firstLink_.push_back(static_cast<LinkId>(system.links_.size()));
      for (const HalfLink& l : links_[at(handle)])
        system.links_.push_back({ids[at(handle)], ids[at(l.to)], l.type, l.bandwidth});
    }
  }
  system.firstLink_.push_back(static_cast<LinkId>(system.links_.size()));
  return system;
}

}  // namespace xylem::topology
