#include "insight/report/machine_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace xylem::report {
namespace {

constexpr float kMargin = 14, kPanelPadding = 12;
constexpr float kLeafWidth = 74, kLoneCpuWidth = 150, kLeafGap = 12, kPanelGap = 44;
constexpr float kBoxHeight = 36, kRowGap = 42;
constexpr float kLaneGap = 3;  // distance of a lane from the middle of its link
constexpr float kAside = 16;   // offset of a second link between the same rows
constexpr float kMinBow = 34, kMaxBow = 150, kBowPerPixel = 0.2f;
constexpr float kFlatBow = 24;  // between two switches

class Arranger {
 public:
  explicit Arranger(const HostPicture& host)
      : host_(host), system_(host.system), nodes_(static_cast<std::size_t>(system_.nodeCount())) {
    layout_.boxes.resize(nodes_.size());
    layout_.lines.resize(host.links.size());
  }

  MachineLayout arrange() {
    findTree();
    const float top = kMargin + bowAbove();
    float x = kMargin;
    for (topology::NodeId root : roots_) {
      const float begin = x;
      x += kPanelPadding;
      placeAcross(root, x);
      x += kPanelPadding - kLeafGap;
      layout_.panels.push_back({begin, top, x - begin, 0});
      x += kPanelGap;
    }
    layout_.width = std::max(x - kPanelGap, 1.0f) + kMargin;
    placeDown(top + kPanelPadding);
    for (Box& panel : layout_.panels) panel.height = bottom_ + kPanelPadding - panel.y;
    layout_.height = bottom_ + kPanelPadding + kMargin;
    placeSwitch();
    for (std::size_t i = 0; i < host_.links.size(); ++i) drawLink(i);
    return std::move(layout_);
  }

 private:
  struct Place {
    topology::NodeId parent = topology::kNoNode;
    std::vector<topology::NodeId> children;
    int depth = 0;
    bool reached = false;
  };

  Place& place(topology::NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  const Place& place(topology::NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  Box& box(topology::NodeId id) { return layout_.boxes[static_cast<std::size_t>(id)]; }
  bool isLast(topology::NodeId id) const {
    return system_.type(id) == topology::NodeType::kGpu || system_.type(id) == topology::NodeType::kNet;
  }

  // Builds the forest of nodes: PCI links lead down from the CPUs, and NETs are below their NICs.
  void findTree() {
    for (topology::NodeId cpu : system_.nodes(topology::NodeType::kCpu)) root(cpu);
    // Nodes that no CPU leads to become roots, so that they are visible, too.
    for (topology::NodeId id = 0; id < system_.nodeCount(); ++id)
      if (!place(id).reached && system_.type(id) != topology::NodeType::kNvs) root(id);
  }
  void root(topology::NodeId id) {
    roots_.push_back(id);
    place(id).reached = true;
    descend(id);
  }
  void descend(topology::NodeId id) {
    for (const topology::Link& link : system_.links(id)) {
      const bool below =
          link.type == topology::LinkType::kPci ||
          (link.type == topology::LinkType::kNet && system_.type(link.to) == topology::NodeType::kNet);
      if (!below || place(link.to).reached || system_.type(link.to) == topology::NodeType::kCpu) continue;
      place(link.to).parent = id;
      place(link.to).depth = place(id).depth + 1;
      place(link.to).reached = true;
      place(id).children.push_back(link.to);
      descend(link.to);
    }
  }

  // Places leaves from left to right and makes each inner node as wide as its children; advances `x`.
  void placeAcross(topology::NodeId id, float& x) {
    Box& at = box(id);
    at.x = x;
    at.height = kBoxHeight;
    for (topology::NodeId child : place(id).children) placeAcross(child, x);
    if (place(id).children.empty()) {
      at.width = place(id).parent == topology::kNoNode ? kLoneCpuWidth : kLeafWidth;
      x += at.width + kLeafGap;
      return;
    }
    at.width = x - kLeafGap - at.x;
    if (place(id).parent != topology::kNoNode || at.width >= kLoneCpuWidth) return;
    at.width = kLoneCpuWidth;  // the children stay at its left edge
    x = at.x + at.width + kLeafGap;
  }

  // Places rows by depth in the tree, and all GPUs and NETs in the bottom row.
  void placeDown(float top) {
    int deepest = 0;
    for (const Place& at : nodes_) deepest = std::max(deepest, at.depth);
    bottom_ = top;
    for (topology::NodeId id = 0; id < system_.nodeCount(); ++id) {
      if (system_.type(id) == topology::NodeType::kNvs) continue;
      const int row = isLast(id) ? deepest : place(id).depth;
      box(id).y = top + static_cast<float>(row) * (kBoxHeight + kRowGap);
      bottom_ = std::max(bottom_, box(id).bottom());
    }
  }

  // The NVSwitch is a bar below all GPUs. Without one, NVLinks between GPUs are arcs below them and need
  // height.
  void placeSwitch() {
    float bow = 0;
    for (const PictureLink& link : host_.links)
      if (bows(link) && isLast(link.a))
        bow = std::max(bow, bowOf(box(link.b).middle() - box(link.a).middle()));
    layout_.height += bow;
    if (!system_.hasNvs()) return;
    float left = layout_.width, right = 0;
    for (topology::NodeId gpu : system_.nodes(topology::NodeType::kGpu)) {
      left = std::min(left, box(gpu).x);
      right = std::max(right, box(gpu).x + box(gpu).width);
    }
    for (topology::NodeId nvs : system_.nodes(topology::NodeType::kNvs)) {
      box(nvs) = {left, bottom_ + kPanelPadding + kRowGap, std::max(right - left, kLeafWidth), kBoxHeight};
      layout_.height = std::max(layout_.height, box(nvs).bottom() + kMargin);
    }
  }

  static float bowOf(float dx) { return std::min(kMinBow + kBowPerPixel * std::fabs(dx), kMaxBow); }

  bool inTree(const PictureLink& link) const {
    return link.type != topology::LinkType::kNvl && link.type != topology::LinkType::kC2c &&
           link.type != topology::LinkType::kSys &&
           (place(link.a).parent == link.b || place(link.b).parent == link.a);
  }
  bool bows(const PictureLink& link) const {
    const bool toSwitch =
        system_.type(link.a) == topology::NodeType::kNvs || system_.type(link.b) == topology::NodeType::kNvs;
    const bool toCpu = (system_.type(link.a) == topology::NodeType::kCpu) !=
                       (system_.type(link.b) == topology::NodeType::kCpu);
    return !inTree(link) && !toSwitch && !toCpu;
  }
  // True if two CPUs are neighbours in their row; a straight line joins them.
  bool beside(topology::NodeId a, topology::NodeId b) const {
    const auto at = [&](topology::NodeId id) {
      return std::find(roots_.begin(), roots_.end(), id) - roots_.begin();
    };
    return std::abs(at(a) - at(b)) == 1;
  }
  // True if two switches are in the same row with nothing between them.
  bool besideBelow(topology::NodeId a, topology::NodeId b) {
    if (isLast(a) || isLast(b) || box(a).y != box(b).y) return false;
    const float left = std::min(box(a).x, box(b).x), right = std::max(box(a).x, box(b).x);
    return std::none_of(layout_.boxes.begin(), layout_.boxes.end(), [&](const Box& other) {
      return other.y == box(a).y && other.x > left && other.x < right;
    });
  }
  // Height of the arcs above the row of CPUs. Nothing is placed yet, so it depends on the CPUs in between.
  float bowAbove() const {
    std::ptrdiff_t farthest = 0;
    for (const PictureLink& link : host_.links) {
      if (system_.type(link.a) != topology::NodeType::kCpu ||
          system_.type(link.b) != topology::NodeType::kCpu)
        continue;
      const auto at = [&](topology::NodeId id) {
        return std::find(roots_.begin(), roots_.end(), id) - roots_.begin();
      };
      farthest = std::max(farthest, std::abs(at(link.a) - at(link.b)));
    }
    return farthest < 2 ? 0 : 20.0f + 14.0f * static_cast<float>(farthest);
  }

  void drawLink(std::size_t i) {
    const PictureLink& link = host_.links[i];
    LinkLine& line = layout_.lines[i];
    const bool cpus =
        system_.type(link.a) == topology::NodeType::kCpu && system_.type(link.b) == topology::NodeType::kCpu;
    if (cpus ? beside(link.a, link.b) : besideBelow(link.a, link.b)) return drawAcross(link, line);
    if (bows(link)) return drawBow(link, line, cpus);
    drawUpright(link, line);
  }

  void drawAcross(const PictureLink& link, LinkLine& line) {
    const Box& a = box(link.a);
    const Box& b = box(link.b);
    const bool right = b.x > a.x;
    const float from = right ? a.x + a.width : a.x;
    const float to = right ? b.x : b.x + b.width;
    const float y = a.y + a.height / 2;
    line.lanes = {fmt::format("M{:.1f} {:.1f}H{:.1f}", from, y - kLaneGap, to),
                  fmt::format("M{:.1f} {:.1f}H{:.1f}", to, y + kLaneGap, from)};
    line.labelX = (from + to) / 2;
    line.labelY = y - kLaneGap - 6;
  }

  void drawBow(const PictureLink& link, LinkLine& line, bool above) {
    const Box& a = box(link.a);
    const Box& b = box(link.b);
    const float y1 = above ? a.y : a.bottom(), y2 = above ? b.y : b.bottom();
    const float x1 = a.middle(), x2 = b.middle();
    const auto between =
        std::find(roots_.begin(), roots_.end(), link.b) - std::find(roots_.begin(), roots_.end(), link.a);
    const float bow = above            ? -(20.0f + 14.0f * static_cast<float>(std::abs(between)))
                      : isLast(link.a) ? bowOf(x2 - x1)
                                       : kFlatBow;
    const float side = x2 > x1 ? kLaneGap : -kLaneGap;
    const float lift = above ? -kLaneGap : kLaneGap;
    // The outer lane goes from a to b.
    const auto path = [](float fromX, float fromY, float toX, float toY, float depth) {
      return fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", fromX, fromY, fromX,
                         fromY + depth, toX, toY + depth, toX, toY);
    };
    line.lanes = {path(x1 - side, y1, x2 + side, y2, (bow + lift) * 4 / 3),
                  path(x2 - side, y2, x1 + side, y1, (bow - lift) * 4 / 3)};
    line.labelX = (x1 + x2) / 2;
    line.labelY = (y1 + y2) / 2 + bow + (above ? -4.0f : 3.0f);
  }

  void drawUpright(const PictureLink& link, LinkLine& line) {
    const bool aAbove = box(link.a).y < box(link.b).y;
    const Box& upper = aAbove ? box(link.a) : box(link.b);
    const Box& lower = aAbove ? box(link.b) : box(link.a);
    // Draw at the middle of the narrower node; links outside of the tree are shifted beside those of the
    // tree.
    float x = upper.width < lower.width ? upper.middle() : lower.middle();
    const bool chip = !inTree(link) && system_.type(link.a) != topology::NodeType::kNvs &&
                      system_.type(link.b) != topology::NodeType::kNvs;
    if (chip) x += kAside;
    if (!chip && sharesRow(link)) x -= kAside;
    const auto path = [](float px, float from, float to) {
      return fmt::format("M{:.1f} {:.1f}V{:.1f}", px, from, to);
    };
    const std::string down = path(x - kLaneGap, upper.bottom(), lower.y);
    const std::string up = path(x + kLaneGap, lower.y, upper.bottom());
    line.lanes = {aAbove ? down : up, aAbove ? up : down};
    line.labelX = x + kLaneGap + 4;
    line.labelY = lower.y - kRowGap / 2 + 4;
    line.upright = true;
  }

  // True if the link is a GPU's PCI link and the GPU also has a chip-to-chip link to a CPU beside it.
  bool sharesRow(const PictureLink& link) const {
    const topology::NodeId lower = place(link.b).parent == link.a ? link.b : link.a;
    return std::any_of(host_.links.begin(), host_.links.end(), [&](const PictureLink& other) {
      const topology::NodeId far = other.a == lower   ? other.b
                                   : other.b == lower ? other.a
                                                      : topology::kNoNode;
      const bool onChip = other.type == topology::LinkType::kNvl || other.type == topology::LinkType::kC2c;
      return far != topology::kNoNode && onChip && system_.type(far) == topology::NodeType::kCpu &&
             link.type == topology::LinkType::kPci;
    });
  }

  const HostPicture& host_;
  const topology::System& system_;
  std::vector<Place> nodes_;
  std::vector<topology::NodeId> roots_;
  MachineLayout layout_;
  float bottom_ = 0;
};

}  // namespace

MachineLayout layOut(const HostPicture& host) { return Arranger(host).arrange(); }

}  // namespace xylem::report
