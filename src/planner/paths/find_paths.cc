#include "planner/paths/find_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "planner/topology/bandwidths.h"

namespace xylem {
namespace {

// An end of a link at a GPU.
struct LinkEnd {
  NodeId other;
  bool out;  // the link leaves the GPU
  LinkType type;
  float bandwidth;
  bool operator==(const LinkEnd&) const = default;
};

// By GPU: the ends of its links in both directions, in link order.
std::vector<std::vector<LinkEnd>> linkEnds(const System& system) {
  std::vector<std::vector<LinkEnd>> ends(static_cast<std::size_t>(system.count(NodeType::kGpu)));
  const auto add = [&](NodeId gpu, const LinkEnd& end) {
    ends[static_cast<std::size_t>(system.position(gpu))].push_back(end);
  };
  for (const Link& link : system.links()) {
    if (system.type(link.from) == NodeType::kGpu) add(link.from, {link.to, true, link.type, link.bandwidth});
    if (system.type(link.to) == NodeType::kGpu) add(link.to, {link.from, false, link.type, link.bandwidth});
  }
  return ends;
}

// True if all links lead to one node, which is no GPU.
bool isLeaf(const System& system, const std::vector<LinkEnd>& ends) {
  return !ends.empty() && system.type(ends.front().other) != NodeType::kGpu &&
         std::all_of(ends.begin(), ends.end(),
                     [&](const LinkEnd& end) { return end.other == ends.front().other; });
}

// The search towards one destination at a time, breadth first from the destination, so that the nodes of a
// level have paths of the same number of links. Within a level a wider path replaces a narrower one. The
// paths form a tree: each node remembers the first link of its path and the node after it, whose own path is
// settled before that node is expanded.
class PathSearch {
 public:
  PathSearch(const System& system, bool allowNvb)
      : system_(system),
        allowNvb_(allowNvb),
        reached_(static_cast<std::size_t>(system.nodeCount())),
        back_(system.links().size(), kUnknown) {}

  // Finds the paths to the GPUs of a group (alikeGpus): by a search towards the first one, the model. A path
  // to another GPU of the group is the path to the model with another last link.
  void run(std::span<const NodeId> alike, PathTable& table) {
    const NodeId model = alike.front();
    run(model, table);
    if (alike.size() == 1) return;
    if (at(alike[1]).type == PathType::kDis) {  // their links have no bandwidth
      for (const NodeId other : alike.subspan(1)) run(other, table);
      return;
    }
    std::vector<LinkId> last;  // the last link to each GPU, by place in `alike`
    const NodeId hub = system_.links(model).front().to;
    const LinkType type = system_.link(at(hub).first).type;
    for (const NodeId gpu : alike) last.push_back(system_.findLink(hub, gpu, type));
    for (NodeId node = 0; node < system_.nodeCount(); ++node) {
      if (!table.isEndpoint(node) || node == model || at(node).type == PathType::kDis) continue;
      for (std::size_t i = 1; i < alike.size(); ++i)
        if (node != alike[i]) table.startLike(node, model, alike[i], last[i]);
    }
    // A path from the model to another GPU is like one from another GPU to the model. Its first link is the
    // model's link at the same place in link order.
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

  // The first link of the same type in the other direction, or kNoLink. Remembered, because every search
  // asks.
  LinkId backOf(const Link& link) {
    LinkId& back = back_[static_cast<std::size_t>(&link - system_.links().data())];
    if (back == kUnknown) back = system_.findLink(link.to, link.from, link.type);
    return back;
  }

  // A GPU relays only to a GPU, over NVLink, and only as the destination's neighbour.
  bool mayRelay(const Reached& here, const Link& link) const {
    return allowNvb_ && link.type == LinkType::kNvl && system_.type(link.to) == NodeType::kGpu &&
           here.hops <= 1;
  }

  // The type that a path gets by this link from `node`, whose path to the destination is `here`.
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

  // Writes the paths of all endpoints into the table.
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

std::vector<std::vector<NodeId>> alikeGpus(const System& system) {
  const std::vector<std::vector<LinkEnd>> ends = linkEnds(system);
  std::vector<std::vector<NodeId>> groups;
  std::vector<std::size_t> leaves;  // groups of GPUs that may be alike
  for (NodeId gpu : system.nodes(NodeType::kGpu)) {
    const auto& mine = ends[static_cast<std::size_t>(system.position(gpu))];
    const bool leaf = isLeaf(system, mine);
    const auto known = std::find_if(leaves.begin(), leaves.end(), [&](std::size_t group) {
      return mine == ends[static_cast<std::size_t>(system.position(groups[group].front()))];
    });
    if (leaf && known != leaves.end()) {
      groups[*known].push_back(gpu);
      continue;
    }
    if (leaf) leaves.push_back(groups.size());
    groups.push_back({gpu});
  }
  return groups;
}

PathTable findPaths(const System& system, bool allowNvb, std::span<const NodeId> destinations) {
  PathTable table(system);
  PathSearch search(system, allowNvb);
  for (const NodeId destination : destinations) search.run(destination, table);
  return table;
}

PathTable findPaths(const System& system, bool allowNvb) {
  PathTable table(system);
  PathSearch search(system, allowNvb);
  for (NodeId cpu : system.nodes(NodeType::kCpu)) search.run(cpu, table);
  for (const std::vector<NodeId>& alike : alikeGpus(system)) search.run(alike, table);
  for (NodeType type : {NodeType::kNet, NodeType::kNvs})
    for (NodeId destination : system.nodes(type)) search.run(destination, table);
  return table;
}

}  // namespace xylem
