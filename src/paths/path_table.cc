#include "paths/path_table.h"

#include <algorithm>

#include "core/error.h"

namespace xylem {
namespace {

// Every pair has a row: more endpoints than this would take gigabytes, and no host comes near.
constexpr std::size_t kMaxEndpoints = 8192;

}  // namespace

PathTable::PathTable(const System& system) : endpoint_(static_cast<std::size_t>(system.nodeCount()), -1) {
  for (NodeType type : {NodeType::kGpu, NodeType::kNvs, NodeType::kCpu, NodeType::kNet})
    for (NodeId node : system.nodes(type))
      endpoint_[static_cast<std::size_t>(node)] = static_cast<int>(endpoints_++);
  if (endpoints_ > kMaxEndpoints)
    throw Error(ResultCode::kInvalidArgument,
                "{} GPUs, CPUs and NETs in one host: paths are computed between at most {}", endpoints_,
                kMaxEndpoints);
  paths_.resize(endpoints_ * endpoints_);
}

void PathTable::set(NodeId from, NodeId to, PathType type, float bandwidth, std::span<const LinkId> links) {
  paths_[cell(from, to)] = {type, bandwidth, static_cast<std::int32_t>(links.size()),
                            static_cast<std::int32_t>(pool_.size())};
  pool_.insert(pool_.end(), links.begin(), links.end());
}

void PathTable::detour(const System& system, NodeId from, NodeId through, NodeId to) {
  const Path a = path(from, through);
  const Path b = path(through, to);
  std::vector<LinkId> joined;
  joined.reserve(static_cast<std::size_t>(a.hops + b.hops));
  joined.insert(joined.end(), links(a).begin(), links(a).end());
  joined.insert(joined.end(), links(b).begin(), links(b).end());
  const PathType type = system.type(through) == NodeType::kGpu ? PathType::kPxn : std::max(a.type, b.type);
  set(from, to, type, std::min(a.bandwidth, b.bandwidth), joined);
}

}  // namespace xylem
