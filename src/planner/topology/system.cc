#include "planner/topology/system.h"

#include <fmt/format.h>

namespace xylem::topology {

const char* name(NodeType type) {
  static constexpr const char* kNames[] = {"GPU", "PCI", "NVS", "CPU", "NIC",
                                           "NET", "GIN", "RMA", "CXB", "DEV"};
  return kNames[static_cast<int>(type)];
}

const char* name(LinkType type) {
  switch (type) {
    case LinkType::kLoc:
      return "LOC";
    case LinkType::kNvl:
      return "NVL";
    case LinkType::kC2c:
      return "C2C";
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

std::string System::deviceName(NodeId gpu) const {
  const NodeKey& key = (*this)[gpu].key;
  return fmt::format("DEV/{:x}-{:x}", key.system(), key.local());
}

std::uint64_t System::deviceWord(NodeId gpu) const {
  const auto i = static_cast<std::size_t>(position(gpu));
  return type(gpu) == NodeType::kGpu ? gpus_[i].device : unusedDevices_[i];
}

// Two passes: the first renumbers the nodes that stay, unused devices last; the second copies their links, as a link may
// lead to a later node.
System System::without(const std::vector<bool>& removed) const {
  System result;
  result.rules_ = rules_;
  result.overrides_ = overrides_;
  result.devices_ = devices_;
  result.lowestDeviceSm_ = lowestDeviceSm_;
  result.spansHosts_ = spansHosts_;
  std::vector<NodeId> renumbered(nodes_.size(), kNoNode);
  std::vector<NodeId> stay;
  std::vector<NodeId> unused;
  const auto keep = [&](NodeId id) {
    renumbered[static_cast<std::size_t>(id)] = static_cast<NodeId>(result.nodes_.size());
    result.nodes_.push_back((*this)[id]);
    stay.push_back(id);
  };
  result.firstLink_.clear();
  for (NodeId id = 0; id < nodeCount(); ++id) {
    if (removed[static_cast<std::size_t>(id)]) {
      if (isDevice(id) && rules_->unusedGpusStay) unused.push_back(id);
      continue;
    }
    keep(id);
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
      case NodeType::kGin:
      case NodeType::kRma:
      case NodeType::kCxb:
      case NodeType::kDev:
        break;
    }
    for (std::size_t t = index(type(id)) + 1; t <= kNodeTypes; ++t) ++result.first_[t];
  }
  for (NodeId id : unused) {
    keep(id);
    result.nodes_.back().type = NodeType::kDev;
    result.unusedDevices_.push_back(deviceWord(id));
    ++result.first_[kNodeTypes];
  }
  for (NodeId id : stay) {
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
