#include "cli/planner/machine_tree.h"

#include <fmt/format.h>

#include <vector>

#include "cli/machine_words.h"
#include "planner/topology/bandwidths.h"

namespace xylem::cli {
namespace {

struct Strokes {
  const char* branch;
  const char* lastBranch;
  const char* bar;
  const char* gap;
  const char* dash;
};
constexpr Strokes kBoxes = {"├─ ", "└─ ", "│  ", "   ", "─"};
constexpr Strokes kAscii = {"|- ", "`- ", "|  ", "   ", "-"};

Style styleOf(NodeType type) {
  switch (type) {
    case NodeType::kGpu:
      return Style::kGreen;
    case NodeType::kNet:
      return Style::kCyan;
    case NodeType::kCpu:
      return Style::kBold;
    case NodeType::kNvs:
      return Style::kMagenta;
    default:
      return Style::kPlain;
  }
}

class Tree {
 public:
  Tree(const Document& document, const System& system, const Terminal& screen)
      : document_(document), system_(system), screen_(screen), strokes_(screen.unicode ? kBoxes : kAscii) {}

  std::string draw() {
    for (const NodeId cpu : system_.nodes(NodeType::kCpu)) {
      text_ += nodeText(cpu) + '\n';
      drawBelow(cpu, kNoNode, "");
    }
    return std::move(text_);
  }

 private:
  // Links drawn as one line: those of a tree one by one, parallel ones to several equal peers together.
  struct Branch {
    LinkType type;
    float bandwidth;
    std::vector<NodeId> to;
    bool descend;
  };

  // A host device is drawn below the link it uses, that to its NUMA node's memory.
  bool isHostDevice(NodeId node) const {
    return system_.type(node) == NodeType::kGpu && system_.gpu(node).hostDevice;
  }

  bool hangsBelow(const Link& link) const {
    if (link.type == LinkType::kNet) return system_.type(link.to) == NodeType::kNet;
    return link.type == (isHostDevice(link.to) ? LinkType::kNvl : LinkType::kPci) &&
           system_.type(link.to) != NodeType::kCpu;
  }

  bool isHidden(const Link& link, NodeId parent) const {
    const bool up = link.to == parent && link.type != LinkType::kNvl;
    // A CPU's end of the links that its GPUs show, and the link a host device does not use.
    const bool shownByGpu = system_.type(link.from) == NodeType::kCpu && link.type == LinkType::kNvl;
    return up || shownByGpu || isHostDevice(link.from) || isHostDevice(link.to);
  }

  std::vector<Branch> branches(NodeId node, NodeId parent) const {
    std::vector<Branch> result;
    for (const Link& link : system_.links(node)) {
      if (hangsBelow(link)) {
        if (link.to != parent) result.push_back({link.type, link.bandwidth, {link.to}, true});
        continue;
      }
      if (isHidden(link, parent)) continue;
      Branch* last = result.empty() ? nullptr : &result.back();
      if (last != nullptr && !last->descend && last->type == link.type && last->bandwidth == link.bandwidth)
        last->to.push_back(link.to);
      else
        result.push_back({link.type, link.bandwidth, {link.to}, false});
    }
    return result;
  }

  void drawBelow(NodeId node, NodeId parent, const std::string& indent) {
    const std::vector<Branch> all = branches(node, parent);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Branch& branch = all[i];
      const bool isLast = i + 1 == all.size();
      const std::string stroke = indent + (isLast ? strokes_.lastBranch : strokes_.branch);
      text_ += screen_.paint(Style::kDim, stroke + linkText(branch)) + ' ';
      text_ += branch.descend ? nodeText(branch.to.front()) : peersText(branch.to);
      text_ += '\n';
      // Down to a NET and no further: its link back is the NIC's.
      if (branch.descend && branch.type != LinkType::kNet)
        drawBelow(branch.to.front(), node, indent + (isLast ? strokes_.gap : strokes_.bar));
    }
  }

  std::string linkText(const Branch& branch) const {
    // The engine's value for "not a bottleneck".
    const bool free = branch.bandwidth >= kLocalBandwidth;
    return fmt::format("{} {} {}", name(branch.type),
                       free ? "unlimited" : fmt::format("{:.1f}", branch.bandwidth), strokes_.dash);
  }

  std::string nodeText(NodeId node) const {
    const std::string detail = nodeDetail(document_, system_, node);
    return screen_.paint(styleOf(system_.type(node)), nodeLabel(system_, node)) +
           (detail.empty() ? "" : "  " + detail);
  }

  std::string peersText(const std::vector<NodeId>& peers) const {
    std::string text;
    for (const NodeId peer : peers)
      text +=
          (text.empty() ? "" : ", ") + screen_.paint(styleOf(system_.type(peer)), nodeLabel(system_, peer));
    return text;
  }

  const Document& document_;
  const System& system_;
  const Terminal& screen_;
  const Strokes& strokes_;
  std::string text_;
};

}  // namespace

std::string machineTree(const Document& document, const System& system, const Terminal& screen) {
  return Tree(document, system, screen).draw();
}

}  // namespace xylem::cli
