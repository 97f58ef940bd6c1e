#include "insight/report/machine_drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "insight/report/assets.h"
#include "insight/report/text.h"
#include "planner/topology/bandwidths.h"

namespace xylem::report {
namespace {

constexpr float kQuarter = 0.25f, kHalf = 0.5f, kThreeQuarters = 0.75f, kFull = 0.97f;
constexpr float kPixelsOfKind = 6.6f, kPixelsOfWhich = 5.9f;  // width of a character
constexpr float kMinScale = 0.66f;

const char* classOf(topology::NodeType type) {
  switch (type) {
    case topology::NodeType::kGpu:
      return "gpu";
    case topology::NodeType::kPci:
      return "pci";
    case topology::NodeType::kNvs:
      return "nvs";
    case topology::NodeType::kCpu:
      return "cpu";
    case topology::NodeType::kNic:
      return "nic";
    case topology::NodeType::kNet:
      return "net";
    case topology::NodeType::kGin:
      return "gin";
    case topology::NodeType::kRma:
      return "rma";
    case topology::NodeType::kCxb:
      return "cxb";
    case topology::NodeType::kDev:
      return "dev";
  }
  return "";
}

class Drawing {
 public:
  Drawing(const HostPicture& host, const MachineLayout& layout, const SvgOptions& options)
      : host_(host), layout_(layout), options_(options) {
    for (const PictureGraph& graph : host.graphs)
      if (graph.kind == options.graph) graph_ = &graph;
  }

  std::string draw() {
    text_ = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" class="xylem-machine" viewBox="0 0 {0:.0f} {1:.0f}" role="group" aria-label="{2}" )",
        layout_.width, layout_.height, markupText("The machine: " + host_.title));
    // In a page the drawing shrinks with the window until its text becomes too small.
    text_ += options_.standalone
                 ? fmt::format(R"(width="{:.0f}" height="{:.0f}">)", layout_.width, layout_.height)
                 : fmt::format(R"(width="100%" style="max-width:{:.0f}px;min-width:{:.0f}px">)",
                               layout_.width, layout_.width * kMinScale);
    text_ += '\n';
    if (options_.standalone)
      text_ += fmt::format(
          "<title>{}</title>\n<style>\n{}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
          markupText(host_.title), asset(Asset::kMachineStyle));
    for (const Box& panel : layout_.panels) text_ += rect("panel", panel, 10);
    for (std::size_t i = 0; i < host_.links.size(); ++i) drawLink(i);
    for (std::size_t i = 0; i < host_.nodes.size(); ++i) drawNode(static_cast<topology::NodeId>(i));
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  static std::string rect(const char* kind, const Box& box, int radius) {
    return fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\"/>\n", kind,
        box.x, box.y, box.width, box.height, radius);
  }

  float used(std::size_t link, std::size_t lane) const {
    return graph_ == nullptr ? 0 : graph_->used[link][lane];
  }

  void drawLink(std::size_t i) {
    const PictureLink& link = host_.links[i];
    const LinkLine& line = layout_.lines[i];
    const float most = std::max(used(i, 0), used(i, 1));
    std::string title = fmt::format("{}, {} GB/s", linkName(host_, link), shortBandwidth(link.bandwidth[0]));
    if (graph_ != nullptr)
      title += fmt::format("; {} channels take {} and {}", search::name(graph_->kind),
                           shortBandwidth(used(i, 0)), shortBandwidth(used(i, 1)));
    text_ += fmt::format(
        "<g class=\"link\" data-link=\"{}\"{}><title>{}</title><path class=\"hit\" d=\"{}\"/>", i,
        options_.standalone ? "" : " tabindex=\"0\" role=\"button\"", markupText(title), line.lanes[0]);
    for (std::size_t lane = 0; lane < 2; ++lane)
      if (link.bandwidth[lane] > 0)
        text_ += fmt::format("<path class=\"lane u{}\" data-lane=\"{}\" d=\"{}\"/>",
                             useLevel(used(i, lane), link.bandwidth[lane]), lane, line.lanes[lane]);
    const float bandwidth = std::max(link.bandwidth[0], link.bandwidth[1]);
    if (bandwidth < topology::kLocalBandwidth)
      text_ += fmt::format("<text class=\"bw{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>",
                           line.upright ? " beside" : "", line.labelX, line.labelY,
                           most > 0 ? shortBandwidth(most) + "/" : "", shortBandwidth(bandwidth));
    text_ += "</g>\n";
  }

  static std::string fitting(const std::string& text, float width, float perCharacter) {
    const auto maxCharacters = static_cast<std::size_t>(std::max(width / perCharacter, 4.0f));
    if (text.size() <= maxCharacters) return text;
    // Do not cut within a UTF-8 character.
    std::size_t end = maxCharacters - 1;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end) + "…";
  }

  // Returns the two lines of a node: its kind, and which one of that kind it is.
  std::pair<std::string, std::string> words(topology::NodeId id) const {
    const PictureNode& node = host_.nodes[static_cast<std::size_t>(id)];
    std::string which = node.detail.substr(0, node.detail.find(','));
    std::string kind = node.label;
    switch (host_.system.type(id)) {
      case topology::NodeType::kPci:
      case topology::NodeType::kNic:
        if (const std::size_t blank = node.label.find(' '); blank != std::string::npos) {
          kind = node.label.substr(0, blank);
          which = node.label.substr(blank + 1);
        }
        break;
      case topology::NodeType::kCpu:
        which = node.detail;
        break;
      default:
        break;
    }
    if (which.starts_with("0000:")) which = which.substr(5);
    return {kind, which};
  }

  void drawNode(topology::NodeId id) {
    const auto i = static_cast<std::size_t>(id);
    const PictureNode& node = host_.nodes[i];
    const Box& box = layout_.boxes[i];
    const auto [kind, which] = words(id);
    text_ += fmt::format("<g class=\"node {}{}\" data-node=\"{}\"{}><title>{}</title>",
                         classOf(host_.system.type(id)), node.used ? "" : " idle", id,
                         options_.standalone ? "" : " tabindex=\"0\" role=\"button\"",
                         markupText(node.detail.empty() ? node.label : node.label + ": " + node.detail));
    text_ += rect("box", box, 5);
    text_ +=
        fmt::format("<text class=\"kind\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.middle(),
                    box.y + (which.empty() ? 22 : 15), markupText(fitting(kind, box.width, kPixelsOfKind)));
    if (!which.empty())
      text_ += fmt::format("<text class=\"which\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.middle(),
                           box.y + 29, markupText(fitting(which, box.width, kPixelsOfWhich)));
    text_ += "</g>\n";
  }

  const HostPicture& host_;
  const MachineLayout& layout_;
  const SvgOptions& options_;
  const PictureGraph* graph_ = nullptr;
  std::string text_;
};

const char* colourOf(topology::NodeType type) {
  switch (type) {
    case topology::NodeType::kGpu:
      return "#d9f0d3";
    case topology::NodeType::kNet:
    case topology::NodeType::kNic:
      return "#d6e6f5";
    case topology::NodeType::kNvs:
      return "#eadcf4";
    default:
      return "#eeeeee";
  }
}

// True if a link constrains the layout, so that its lower end is drawn below the upper one.
bool shapes(const HostPicture& host, const PictureLink& link) {
  return link.type == topology::LinkType::kPci || link.type == topology::LinkType::kNet ||
         host.system.type(link.a) == topology::NodeType::kNvs ||
         host.system.type(link.b) == topology::NodeType::kNvs;
}

// True for types that are drawn at the upper end of a link.
bool isUpper(topology::NodeType type) {
  return type == topology::NodeType::kCpu || type == topology::NodeType::kPci;
}

}  // namespace

int useLevel(float used, float bandwidth) {
  if (used <= 0 || bandwidth <= 0) return 0;
  const float part = used / bandwidth;
  return part <= kQuarter ? 1 : part <= kHalf ? 2 : part <= kThreeQuarters ? 3 : part < kFull ? 4 : 5;
}

std::string linkName(const HostPicture& host, const PictureLink& link) {
  const auto label = [&](topology::NodeId id) { return host.nodes[static_cast<std::size_t>(id)].label; };
  return fmt::format("{} between {} and {}", topology::name(link.type), label(link.a), label(link.b));
}

std::string machineSvg(const HostPicture& host, const MachineLayout& layout, const SvgOptions& options) {
  return Drawing(host, layout, options).draw();
}

std::string machineDot(const HostPicture& host) {
  std::string text = fmt::format("graph machine {{\n  label=\"{}\";\n", dotText(host.title));
  text +=
      "  node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\", fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  for (std::size_t i = 0; i < host.nodes.size(); ++i) {
    const PictureNode& node = host.nodes[i];
    text += fmt::format("  n{} [label=\"{}\", fillcolor=\"{}\", tooltip=\"{}\"{}];\n", i, dotText(node.label),
                        colourOf(host.system.type(static_cast<topology::NodeId>(i))), dotText(node.detail),
                        node.used ? "" : ", style=\"rounded,dashed\"");
  }
  const PictureGraph* ring = host.graphs.empty() ? nullptr : &host.graphs.front();
  for (std::size_t i = 0; i < host.links.size(); ++i) {
    const PictureLink& link = host.links[i];
    topology::NodeId a = link.a, b = link.b;
    if (isUpper(host.system.type(b)) && !isUpper(host.system.type(a))) std::swap(a, b);
    const float used = ring == nullptr ? 0 : std::max(ring->used[i][0], ring->used[i][1]);
    text +=
        fmt::format("  n{} -- n{} [label=\"{} {}\", penwidth={}{}];\n", a, b, topology::name(link.type),
                    used > 0 ? fmt::format("{}/{}", shortBandwidth(used), shortBandwidth(link.bandwidth[0]))
                             : shortBandwidth(link.bandwidth[0]),
                    used > 0 ? 2 : 1, shapes(host, link) ? "" : ", constraint=false");
  }
  return text + "}\n";
}

}  // namespace xylem::report
