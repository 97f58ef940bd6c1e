#include "planner/paths/find_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "planner/topology/bandwidths.h"

namespace xylem::paths {
namespace {

// An end of a link at a GPU.
struct LinkEnd {
  topology::NodeId other;
  bool out;  // the link leaves the GPU
  topology::LinkType type;
  float bandwidth;
  bool operator==(const LinkEnd&) const = default;
};

// By GPU: the ends of its links in both directions, in link order.
std::vector<std::vector<LinkEnd>> linkEnds(const topology::System& system) {
  std::vector<std::vector<LinkEnd>> ends(static_cast<std::size_t>(system.count(topology::NodeType::kGpu)));
  const auto add = [&](topology::NodeId gpu, const LinkEnd& end) {
    ends[static_cast<std::size_t>(system.position(gpu))].push_back(end);
  };
  for (const topology::Link& link : system.links()) {
    if (system.type(link.from) == topology::NodeType::kGpu)
      add(link.from, {link.to, true, link.type, link.bandwidth});
    if (system.type(link.to) == topology::NodeType::kGpu)
      add(link.to, {link.from, false, link.type, link.bandwidth});
  }
  return ends;
}

// True if all links lead to one node, which is no GPU.
bool isLeaf(const topology::System& system, const std::vector<LinkEnd>& ends) {
  return !ends.empty() && system.type(ends.front().other) != topology::NodeType::kGpu &&
         std::all_of(ends.begin(), ends.end(),
                     [&](const LinkEnd& end) { return end.other == ends.front().other; });
}

// The search towards one destination at a time, breadth first from the destination, so that the nodes of a
// level have paths of the same number of links. Within a level a wider path replaces a narrower one. The
// paths form a tree: each node remembers the first link of its path and the node after it, whose own path is
// settled before that node is expanded.
class PathSearch {
 public:
  PathSearch(const topology::System& system, bool allowNvb)
      : system_(system),
        allowNvb_(allowNvb),
        nearest_(system.rules().pathOrder == rules::PathOrder::kNearest),
        links_(nearest_ ? static_cast<std::size_t>(system.nodeCount()) : 0),
        reached_(static_cast<std::size_t>(system.nodeCount())),
        back_(system.links().size(), kUnknown) {}

  // Finds the paths to the GPUs of a group (alikeGpus): by a search towards the first one, the model. A path
  // to another GPU of the group is the path to the model with another last link.
  void run(std::span<const topology::NodeId> alike, PathTable& table) {
    const topology::NodeId model = alike.front();
    run(model, table);
    if (alike.size() == 1) return;
    if (at(alike[1]).type == PathType::kDis) {  // their links have no bandwidth
      for (const topology::NodeId other : alike.subspan(1)) run(other, table);
      return;
    }
    std::vector<topology::LinkId> last;  // the last link to each GPU, by place in `alike`
    const topology::NodeId hub = system_.links(model).front().to;
    const topology::LinkType type = system_.link(at(hub).first).type;
    for (const topology::NodeId gpu : alike) last.push_back(system_.findLink(hub, gpu, type));
    for (topology::NodeId node = 0; node < system_.nodeCount(); ++node) {
      if (!table.isEndpoint(node) || node == model || at(node).type == PathType::kDis) continue;
      for (std::size_t i = 1; i < alike.size(); ++i)
        if (node != alike[i]) table.startLike(node, model, alike[i], last[i]);
    }
    // A path from the model to another GPU is like one from another GPU to the model. Its first link is the
    // model's link at the same place in link order.
    const Path between = table.path(alike[1], model);
    const topology::LinkId up =
        system_.firstLink(model) + (table.links(between).front() - system_.firstLink(alike[1]));
    for (std::size_t i = 1; i < alike.size(); ++i) {
      table.start(alike[i], alike[i], PathType::kLoc, topology::kLocalBandwidth);
      Path& path = table.start(model, alike[i], between.type, between.bandwidth);
      table.append(path, up);
      table.append(path, last[i]);
    }
  }

  void run(topology::NodeId destination, PathTable& table) {
    std::fill(reached_.begin(), reached_.end(), Reached{});
    if (nearest_) {
      for (auto& list : links_) list.clear();
      expandAll<true>(destination);
    } else {
      expandAll<false>(destination);
    }
    store(destination, table);
  }

 private:
  // `kNearest`: paths are chosen by type first.
  template <bool kNearest>
  void expandAll(topology::NodeId destination) {
    home_ =
        system_.type(destination) == topology::NodeType::kGpu ? system_.deviceOf(destination) : destination;
    at(destination) = {PathType::kLoc,    topology::kLocalBandwidth, 0,
                       topology::kNoLink, topology::kNoNode,         false};
    level_.assign(1, destination);
    while (!level_.empty()) {
      next_.clear();
      for (topology::NodeId node : level_) expand<kNearest>(node, destination);
      level_.swap(next_);
      for (topology::NodeId node : level_) at(node).queued = false;
    }
  }

  struct Reached {
    PathType type = PathType::kDis;
    float bandwidth = 0;
    int hops = 0;
    topology::LinkId first = topology::kNoLink;  // the link the path starts with
    topology::NodeId after = topology::kNoNode;  // the node it then follows the path of
    bool queued = false;                         // already in the next level
  };

  Reached& at(topology::NodeId node) { return reached_[static_cast<std::size_t>(node)]; }

  template <bool kNearest>
  void expand(topology::NodeId node, topology::NodeId destination) {
    const Reached here = at(node);
    const bool relayGpu = node != home_ && node != destination && system_.isDevice(node);
    for (const topology::Link& link : system_.links(node)) {
      if (relayGpu && !mayRelay(here, link)) continue;
      Reached& there = at(link.to);
      const float bandwidth = std::min(here.bandwidth, link.bandwidth);
      if constexpr (kNearest) {
        const PathType type = std::max(here.type, typeOver(node, here, link));
        if (!isNearer(type, bandwidth, here.hops + 1, there)) continue;
      } else {
        if (there.bandwidth != 0 && there.hops <= here.hops) continue;
        if (there.bandwidth >= bandwidth) continue;
      }
      const topology::LinkId back = backOf(link);
      if (back != topology::kNoLink) there.first = back;
      if (there.first == topology::kNoLink)
        throw Error(ResultCode::kInvalidArgument,
                    "the {} link {} -> {} has no counterpart in the other direction",
                    topology::name(link.type), system_.name(node), system_.name(link.to));
      there.after = node;
      there.hops = here.hops + 1;
      there.bandwidth = bandwidth;
      there.type = std::max(here.type, typeOver(node, here, link));
      if constexpr (kNearest) copyLinks(node, link.to, there.first);
      if (!there.queued) {
        there.queued = true;
        next_.push_back(link.to);
      }
    }
  }

  static bool isNearer(PathType type, float bandwidth, int hops, const Reached& there) {
    if (type != there.type) return type < there.type;
    if (bandwidth != there.bandwidth) return bandwidth > there.bandwidth;
    return hops < there.hops;
  }

  // A path by type can change after others have followed it, which keep what it was: every node has its own list.
  void copyLinks(topology::NodeId node, topology::NodeId to, topology::LinkId first) {
    std::vector<topology::LinkId>& list = links_[static_cast<std::size_t>(to)];
    const std::vector<topology::LinkId>& rest = links_[static_cast<std::size_t>(node)];
    list.assign(1, first);
    list.insert(list.end(), rest.begin(), rest.end());
  }

  // The first link of the same type in the other direction, or kNoLink. Remembered, because every search
  // asks.
  topology::LinkId backOf(const topology::Link& link) {
    topology::LinkId& back = back_[static_cast<std::size_t>(&link - system_.links().data())];
    if (back == kUnknown) back = system_.findLink(link.to, link.from, link.type);
    return back;
  }

  // A GPU relays only to a GPU, over NVLink, and only as the destination's neighbour; and to its own further ranks.
  bool mayRelay(const Reached& here, const topology::Link& link) const {
    if (system_.type(link.to) == topology::NodeType::kGpu && !system_.isDevice(link.to)) return true;
    return allowNvb_ && link.type == topology::LinkType::kNvl && system_.isDevice(link.to) &&
           here.hops <= reached_[static_cast<std::size_t>(home_)].hops + 1;
  }

  // The type that a path gets by this link from `node`, whose path to the destination is `here`.
  PathType typeOver(topology::NodeId node, const Reached& here, const topology::Link& link) const {
    const topology::NodeType a = system_.type(node);
    const topology::NodeType b = system_.type(link.to);
    PathType type = link.type == topology::LinkType::kNet
                        ? PathType::kLoc
                        : static_cast<PathType>(static_cast<std::uint8_t>(link.type));
    if (a == topology::NodeType::kPci && b == topology::NodeType::kPci) type = PathType::kPxb;
    if (link.type == topology::LinkType::kPci &&
        (a == topology::NodeType::kCpu || b == topology::NodeType::kCpu))
      type = PathType::kPhb;
    if (here.type == PathType::kNvl && type == PathType::kNvl && here.hops > 0 && system_.isDevice(node))
      type = PathType::kNvb;
    return type;
  }

  // Writes the paths of all endpoints into the table.
  void store(topology::NodeId destination, PathTable& table) {
    for (topology::NodeId node = 0; node < system_.nodeCount(); ++node) {
      if (!table.isEndpoint(node)) continue;
      const Reached& reached = at(node);
      if (reached.type == PathType::kDis) continue;
      Path& path = table.start(node, destination, reached.type, reached.bandwidth);
      if (nearest_) {
        for (const topology::LinkId link : links_[static_cast<std::size_t>(node)]) table.append(path, link);
        continue;
      }
      for (topology::NodeId on = node; at(on).after != topology::kNoNode; on = at(on).after)
        table.append(path, at(on).first);
    }
  }

  const topology::System& system_;
  const bool allowNvb_;
  const bool nearest_;                         // paths are chosen by type first
  topology::NodeId home_ = topology::kNoNode;  // the node with the destination's wires
  std::vector<std::vector<topology::LinkId>>
      links_;  // by node, of its path; filled if paths are chosen by type first
  std::vector<Reached> reached_;
  static constexpr topology::LinkId kUnknown = -2;
  std::vector<topology::LinkId> back_;  // by link
  std::vector<topology::NodeId> level_, next_;
};

}  // namespace

std::vector<std::vector<topology::NodeId>> alikeGpus(const topology::System& system) {
  const std::vector<std::vector<LinkEnd>> ends = linkEnds(system);
  std::vector<std::vector<topology::NodeId>> groups;
  std::vector<std::size_t> leaves;  // groups of GPUs that may be alike
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
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

PathTable findPaths(const topology::System& system, bool allowNvb,
                    std::span<const topology::NodeId> destinations) {
  PathTable table(system);
  PathSearch search(system, allowNvb);
  for (const topology::NodeId destination : destinations) search.run(destination, table);
  return table;
}

PathTable findPaths(const topology::System& system, bool allowNvb) {
  PathTable table(system);
  PathSearch search(system, allowNvb);
  for (topology::NodeId cpu : system.nodes(topology::NodeType::kCpu)) search.run(cpu, table);
  for (const std::vector<topology::NodeId>& alike : alikeGpus(system)) search.run(alike, table);
  for (topology::NodeType type : {topology::NodeType::kNet, topology::NodeType::kGin,
                                  topology::NodeType::kRma, topology::NodeType::kNvs})
    for (topology::NodeId destination : system.nodes(type)) search.run(destination, table);
  return table;
}

}  // namespace xylem::paths
