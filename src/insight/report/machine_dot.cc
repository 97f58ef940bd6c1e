#include "insight/report/machine_dot.h"

#include <fmt/format.h>

#include <algorithm>

#include "insight/report/text.h"

namespace xylem {
namespace {

const char* colourOf(NodeType type) {
  switch (type) {
    case NodeType::kGpu:
      return "#d9f0d3";
    case NodeType::kNet:
    case NodeType::kNic:
      return "#d6e6f5";
    case NodeType::kNvs:
      return "#eadcf4";
    default:
      return "#eeeeee";
  }
}

// Lower ones hang below: what shapes the layout. The rest only joins.
bool shapes(const HostPicture& host, const PictureLink& link) {
  return link.type == LinkType::kPci || link.type == LinkType::kNet ||
         host.system.type(link.a) == NodeType::kNvs || host.system.type(link.b) == NodeType::kNvs;
}

// The one that is nearer to a CPU comes first.
bool isUpper(NodeType type) { return type == NodeType::kCpu || type == NodeType::kPci; }

}  // namespace

std::string machineDot(const HostPicture& host) {
  std::string text = fmt::format("graph machine {{\n  label=\"{}\";\n", dotText(host.title));
  text +=
      "  node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\", fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const PictureNode& node = host.nodes[i];
    text += fmt::format("  n{} [label=\"{}\", fillcolor=\"{}\", tooltip=\"{}\"{}];\n", i, dotText(node.label),
                        colourOf(host.system.type(static_cast<NodeId>(i))), dotText(node.detail),
                        node.used ? "" : ", style=\"rounded,dashed\"");
  }
  const PictureGraph* ring = host.graphs.empty() ? nullptr : &host.graphs.front();
  for (std::size_t i = 0; i < host.links.size(); ++i) {
    const PictureLink& link = host.links[i];
    NodeId a = link.a, b = link.b;
    if (isUpper(host.system.type(b)) && !isUpper(host.system.type(a))) std::swap(a, b);
    const float used = ring == nullptr ? 0 : std::max(ring->used[i][0], ring->used[i][1]);
    text +=
        fmt::format("  n{} -- n{} [label=\"{} {}\", penwidth={}{}];\n", a, b, name(link.type),
                    used > 0 ? fmt::format("{}/{}", shortBandwidth(used), shortBandwidth(link.bandwidth[0]))
                             : shortBandwidth(link.bandwidth[0]),
                    used > 0 ? 2 : 1, shapes(host, link) ? "" : ", constraint=false");
  }
  return text + "}\n";
}

}  // namespace xylem
