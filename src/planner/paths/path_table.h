#pragma once
// "From here to there": for every pair of endpoints (GPUs, NVSwitches, CPUs, NETs) the path data takes.
//
//   PathTable paths = findPaths(system);
//   const Path& path = paths.path(gpu0, net1);     // type, bandwidth in GB/s, number of links
//   for (LinkId link : paths.links(path)) ...
//
// Switches and NICs are only ever passed through, so they have no rows.

#include <span>
#include <vector>

#include "planner/paths/path_type.h"
#include "planner/topology/system.h"

namespace xylem {

struct Path {
  PathType type = PathType::kDis;
  float bandwidth = 0;     // GB/s; 0 if there is none
  std::int32_t hops = 0;   // number of links
  std::int32_t first = 0;  // into the table's pool of links
};

class PathTable {
 public:
  PathTable() = default;
  explicit PathTable(const System& system);

  const Path& path(NodeId from, NodeId to) const { return paths_[cell(from, to)]; }
  std::span<const LinkId> links(const Path& path) const {
    return std::span(pool_).subspan(static_cast<std::size_t>(path.first),
                                    static_cast<std::size_t>(path.hops));
  }
  std::span<const LinkId> links(NodeId from, NodeId to) const { return links(path(from, to)); }

  // A path without links, which then get appended one after the other.
  Path& start(NodeId from, NodeId to, PathType type, float bandwidth) {
    return paths_[cell(from, to)] = {type, bandwidth, 0, static_cast<std::int32_t>(pool_.size())};
  }
  void append(Path& newest, LinkId link) {
    pool_.push_back(link);
    ++newest.hops;
  }
  // A path that is the one to `model`, but for its last link.
  void startLike(NodeId from, NodeId model, NodeId to, LinkId last) {
    const Path like = path(from, model);
    paths_[cell(from, to)] = {like.type, like.bandwidth, like.hops, static_cast<std::int32_t>(pool_.size())};
    if (like.hops == 0) return;
    for (std::int32_t i = like.first; i + 1 < like.first + like.hops; ++i)
      pool_.push_back(pool_[static_cast<std::size_t>(i)]);
    pool_.push_back(last);
  }
  void setType(NodeId from, NodeId to, PathType type) { paths_[cell(from, to)].type = type; }
  // Replaces the path by the two paths from -> through -> to: worst type, least bandwidth; PXN if `through`
  // is a GPU.
  void detour(const System& system, NodeId from, NodeId through, NodeId to);

  bool isEndpoint(NodeId node) const { return endpoint_[static_cast<std::size_t>(node)] >= 0; }

 private:
  std::size_t cell(NodeId from, NodeId to) const {
    return static_cast<std::size_t>(endpoint_[static_cast<std::size_t>(from)]) * endpoints_ +
           static_cast<std::size_t>(endpoint_[static_cast<std::size_t>(to)]);
  }

  std::vector<std::int32_t> endpoint_;  // by node: its row, or -1
  std::size_t endpoints_ = 0;
  std::vector<Path> paths_;
  std::vector<LinkId> pool_;
};

}  // namespace xylem
