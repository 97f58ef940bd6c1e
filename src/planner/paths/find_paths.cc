#include "planner/paths/find_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "planner/paths/leaves.h"
#include "planner/topology/bandwidths.h"

namespace xylem {
namespace {

// The search towards one destination. Its paths form a tree: each node remembers its first link and the node
// after it, whose own path is settled before it is expanded.
class Search {
 public:
  Search(const System& system, bool allowNvb)
      : system_(system),
        allowNvb_(allowNvb),
        reached_(static_cast<std::size_t>(system.nodeCount())),
        back_(system.links().size(), kUnknown) {}

  // Towards the first of some GPUs that are alike (leaves.h). Whoever reaches it reaches the others in the
  // same way, but for the last link.
  void run(std::span<const NodeId> alike, PathTable& table) {
    const NodeId model = alike.front();
    run(model, table);
    if (alike.size() == 1) return;
    if (at(alike[1]).type == PathType::kDis) {  // links without bandwidth lead nowhere
      for (const NodeId other : alike.subspan(1)) run(other, table);
      return;
    }
    std::vector<LinkId> last;  // by place in `alike`
    const NodeId hub = system_.links(model).front().to;
    const LinkType type = system_.link(at(hub).first).type;
    for (const NodeId gpu : alike) last.push_back(system_.findLink(hub, gpu, type));
    for (NodeId node = 0; node < system_.nodeCount(); ++node) {
      if (!table.isEndpoint(node) || node == model || at(node).type == PathType::kDis) continue;
      for (std::size_t i = 1; i < alike.size(); ++i)
        if (node != alike[i]) table.startLike(node, model, alike[i], last[i]);
    }
    // From the model to another as from another to the model; up by the link that it has in the same place.
    const Path between = table.path(alike[1], model);
    const LinkId up = system_.firstLink(model) + (table.links(between).front() - system_.firstLink(alike[1]));
    for (std::size_t i = 1; i < alike.size(); ++i) {
      table.start(alike[i], alike[i], PathType::kLoc, kLocalBandwidth);
      Path& path = table.start(model, alike[i], between.type, between.bandwidth);
      table.append(path, up);
      table.append(path, last[i]);
    }
  }

  void run(NodeId destination, PathTable& table) {
    std::fill(reached_.begin(), reached_.end(), Reached{});
    at(destination) = {PathType::kLoc, kLocalBandwidth, 0, kNoLink, kNoNode, false};
    level_.assign(1, destination);
    while (!level_.empty()) {
      next_.clear();
      for (NodeId node : level_) expand(node, destination);
      level_.swap(next_);
      for (NodeId node : level_) at(node).queued = false;
    }
    store(destination, table);
  }

 private:
  struct Reached {
    PathType type = PathType::kDis;
    float bandwidth = 0;
    int hops = 0;
    LinkId first = kNoLink;  // the link the path starts with
    NodeId after = kNoNode;  // the node it then follows the path of
    bool queued = false;     // already in the next level
  };

  Reached& at(NodeId node) { return reached_[static_cast<std::size_t>(node)]; }

  void expand(NodeId node, NodeId destination) {
    const Reached here = at(node);
    const bool relayGpu = node != destination && system_.type(node) == NodeType::kGpu;
    for (const Link& link : system_.links(node)) {
      if (relayGpu && !mayRelay(here, link)) continue;
      Reached& there = at(link.to);
      const float bandwidth = std::min(here.bandwidth, link.bandwidth);
      if (there.bandwidth != 0 && there.hops <= here.hops) continue;
      if (there.bandwidth >= bandwidth) continue;
      const LinkId back = backOf(link);
      if (back != kNoLink) there.first = back;
      if (there.first == kNoLink)
        throw Error(ResultCode::kInvalidArgument,
                    "the {} link {} -> {} has no counterpart in the other direction", name(link.type),
                    system_.name(node), system_.name(link.to));
      there.after = node;
      there.hops = here.hops + 1;
      there.bandwidth = bandwidth;
      there.type = std::max(here.type, typeOver(node, here, link));
      if (!there.queued) {
        there.queued = true;
        next_.push_back(link.to);
      }
    }
  }

  // The first link the other way.
  LinkId backOf(const Link& link) {
    LinkId& back = back_[static_cast<std::size_t>(&link - system_.links().data())];
    if (back == kUnknown) back = system_.findLink(link.to, link.from, link.type);
    return back;
  }

  // A GPU passes on only to a GPU, over NVLink, and only next to the destination.
  bool mayRelay(const Reached& here, const Link& link) const {
    return allowNvb_ && link.type == LinkType::kNvl && system_.type(link.to) == NodeType::kGpu &&
           here.hops <= 1;
  }

  PathType typeOver(NodeId node, const Reached& here, const Link& link) const {
    const NodeType a = system_.type(node);
    const NodeType b = system_.type(link.to);
    PathType type = link.type == LinkType::kNet ? PathType::kLoc
                                                : static_cast<PathType>(static_cast<std::uint8_t>(link.type));
    if (a == NodeType::kPci && b == NodeType::kPci) type = PathType::kPxb;
    if (link.type == LinkType::kPci && (a == NodeType::kCpu || b == NodeType::kCpu)) type = PathType::kPhb;
    if (a == NodeType::kGpu && here.type == PathType::kNvl && type == PathType::kNvl && here.hops + 1 > 1)
      type = PathType::kNvb;
    return type;
  }

  void store(NodeId destination, PathTable& table) {
    for (NodeId node = 0; node < system_.nodeCount(); ++node) {
      if (!table.isEndpoint(node)) continue;
      const Reached& reached = at(node);
      if (reached.type == PathType::kDis) continue;
      Path& path = table.start(node, destination, reached.type, reached.bandwidth);
      for (NodeId on = node; at(on).after != kNoNode; on = at(on).after) table.append(path, at(on).first);
    }
  }

  const System& system_;
  const bool allowNvb_;
  std::vector<Reached> reached_;
  static constexpr LinkId kUnknown = -2;
  std::vector<LinkId> back_;  // by link
  std::vector<NodeId> level_, next_;
};

}  // namespace

PathTable findPaths(const System& system, bool allowNvb, std::span<const NodeId> destinations) {
  PathTable table(system);
  Search search(system, allowNvb);
  for (const NodeId destination : destinations) search.run(destination, table);
  return table;
}

PathTable findPaths(const System& system, bool allowNvb) {
  PathTable table(system);
  Search search(system, allowNvb);
  for (NodeId cpu : system.nodes(NodeType::kCpu)) search.run(cpu, table);
  for (const std::vector<NodeId>& alike : alikeGpus(system)) search.run(alike, table);
  for (NodeType type : {NodeType::kNet, NodeType::kNvs})
    for (NodeId destination : system.nodes(type)) search.run(destination, table);
  return table;
}

}  // namespace xylem
