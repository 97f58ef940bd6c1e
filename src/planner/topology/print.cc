#include "planner/topology/print.h"

#include <fmt/format.h>

#include "planner/topology/bandwidths.h"

namespace xylem::topology {
namespace {

constexpr int kRuleWidth = 42;

class Printer {
 public:
  Printer(const System& system, const RankNames& names) : system_(system), names_(names) {}

  void add(std::string text) { lines_.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text)}); }

  // Adds the node and its links, and recursively the nodes below it on the PCI tree. `line` is the text
  // before the node on its line; the links start at `column`.
  void node(NodeId id, NodeId parent, const std::string& line, std::size_t column) {
    add(line + nodeText(id));
    if (isDevice(id) && system_.type(id) == NodeType::kGpu)
      add(std::string(column, ' ') +
          fmt::format("+ {}[{:2.1f}] - {}", name(LinkType::kLoc), kLocalBandwidth, system_.name(id)));
    for (const Link& link : system_.links(id)) {
      const bool pci = link.type == LinkType::kPci;
      if (pci && link.to == parent) continue;
      const std::string prefix =
          std::string(column, ' ') + fmt::format("+ {}[{:2.1f}] - ", name(link.type), link.bandwidth);
      if (pci) {
        node(link.to, id, prefix, prefix.size());
      } else {
        add(prefix + shortName(link.to) + netText(link));
      }
    }
  }

  std::vector<LogLine> take() { return std::move(lines_); }

 private:
  // Returns whether the log shows a device, and the GPU that stands for its rank below it.
  bool isDevice(NodeId id) const { return system_.rules().logsDevices && system_.isDevice(id); }
  std::string shortName(NodeId id) const { return isDevice(id) ? system_.deviceName(id) : system_.name(id); }

  std::string nodeText(NodeId id) const {
    const Node& node = system_[id];
    if (isDevice(id)) return fmt::format("{} ({:x})", system_.deviceName(id), system_.deviceWord(id));
    switch (node.type) {
      case NodeType::kGpu:
        return fmt::format("{} ({})", system_.name(id), names_(system_, id));
      case NodeType::kPci:
        return fmt::format("{} ({:x})", system_.name(id), system_.pci(id).device);
      case NodeType::kCpu: {
        const Cpu& cpu = system_.cpu(id);
        return fmt::format("CPU/{}-{} ({}/{}/{})", node.key.system(), node.key.local(),
                           static_cast<int>(cpu.arch), static_cast<int>(cpu.vendor), cpu.model);
      }
      default:
        return system_.name(id);
    }
  }

  std::string netText(const Link& link) const {
    if (system_.type(link.to) != NodeType::kNet) return "";
    const Net& net = system_.net(link.to);
    return fmt::format(" ({}/{:x}/{}/{:f})", net.coll ? 1 : 0, net.asic, net.port, net.bandwidth);
  }

  const System& system_;
  const RankNames& names_;
  std::vector<LogLine> lines_;
};

}  // namespace

std::vector<LogLine> systemLines(const System& system, float maxBandwidth, float totalBandwidth,
                                 const RankNames& names) {
  Printer printer(system, names);
  printer.add(fmt::format("=== System : maxBw {:2.1f} totalBw {:2.1f} ===", maxBandwidth, totalBandwidth));
  for (NodeId cpu : system.nodes(NodeType::kCpu)) printer.node(cpu, kNoNode, "", 0);
  printer.add(std::string(kRuleWidth, '='));
  return printer.take();
}

}  // namespace xylem::topology
