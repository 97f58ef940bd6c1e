#include "planner/topology/system.h"

#include <fmt/format.h>

namespace xylem::topology {

const char* name(NodeType type) {
  static constexpr const char* kNames[] = {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"};
  return kNames[static_cast<int>(type)];
}

const char* name(LinkType type) {
  switch (type) {
    case LinkType::kLoc:
      return "LOC";
    case LinkType::kNvl:
      return "NVL";
    case LinkType::kPci:
      return "PCI";
    case LinkType::kSys:
      return "SYS";
    case LinkType::kNet:
      return "NET";
  }
  return "";
}

const char* name(CpuArch arch) {
  switch (arch) {
    case CpuArch::kX86:
      return "x86_64";
    case CpuArch::kPower:
      return "ppc64";
    case CpuArch::kArm:
      return "arm64";
    case CpuArch::kMixed:
      return "mixed";
    case CpuArch::kUnknown:
      return "unknown";
    case CpuArch::kUndefined:
      break;
  }
  return "unknown";
}

const char* name(CpuVendor vendor) {
  switch (vendor) {
    case CpuVendor::kIntel:
      return "intel";
    case CpuVendor::kAmd:
      return "amd";
    case CpuVendor::kZhaoxin:
      return "zhaoxin";
    case CpuVendor::kMixed:
      return "mixed";
    case CpuVendor::kUnknown:
      return "unknown";
    case CpuVendor::kUndefined:
      break;  // only x86 says its vendor
  }
  return "unknown";
}

LinkId System::findLink(NodeId from, NodeId to, LinkType type) const {
  for (LinkId id = firstLink(from); id < firstLink(from + 1); ++id)
    if (link(id).to == to && link(id).type == type) return id;
  return kNoLink;
}

NodeId System::gpuOfRank(int rank) const {
  for (NodeId id : nodes(NodeType::kGpu))
    if (gpu(id).rank == rank) return id;
  return kNoNode;
}

std::string System::name(NodeId id) const {
  const Node& node = (*this)[id];
  return fmt::format("{}/{:x}-{:x}", xylem::topology::name(node.type), node.key.system(), node.key.local());
}

// Two passes: the first renumbers the nodes that stay, the second copies their links, as a link may lead to a
// later node.
System System::without(const std::vector<bool>& removed) const {
  System result;
  std::vector<NodeId> renumbered(nodes_.size(), kNoNode);
  result.firstLink_.clear();
  for (NodeId id = 0; id < nodeCount(); ++id) {
    if (removed[static_cast<std::size_t>(id)]) continue;
    renumbered[static_cast<std::size_t>(id)] = static_cast<NodeId>(result.nodes_.size());
    result.nodes_.push_back((*this)[id]);
    switch (type(id)) {
      case NodeType::kGpu:
        result.gpus_.push_back(gpu(id));
        break;
      case NodeType::kPci:
        result.pcis_.push_back(pci(id));
        break;
      case NodeType::kCpu:
        result.cpus_.push_back(cpu(id));
        break;
      case NodeType::kNet:
        result.nets_.push_back(net(id));
        break;
      case NodeType::kNvs:
      case NodeType::kNic:
        break;
    }
    for (std::size_t t = index(type(id)) + 1; t <= kNodeTypes; ++t) ++result.first_[t];
  }
  for (NodeId id = 0; id < nodeCount(); ++id) {
    if (removed[static_cast<std::size_t>(id)]) continue;
    result.firstLink_.push_back(static_cast<LinkId>(result.links_.size()));
    for (const Link& link : links(id)) {
      const NodeId to = renumbered[static_cast<std::size_t>(link.to)];
      if (to != kNoNode)
        result.links_.push_back({renumbered[static_cast<std::size_t>(id)], to, link.type, link.bandwidth});
    }
  }
  result.firstLink_.push_back(static_cast<LinkId>(result.links_.size()));
  return result;
}

}  // namespace xylem::topology
