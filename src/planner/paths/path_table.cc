#include "planner/paths/path_table.h"

#include <algorithm>

#include "core/error.h"

namespace xylem {
namespace {

// Every pair has a row: more endpoints than this would take gigabytes, and no host comes near.
constexpr std::size_t kMaxEndpoints = 8192;
// Of most paths; room for so many links is made in advance. What is not used of it is never touched, while to
// grow leaves what was too small behind.
constexpr std::size_t kLinksPerPath = 4;
constexpr std::size_t kMaxReserved = 1 << 20;

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
  pool_.reserve(std::min(kLinksPerPath * paths_.size(), kMaxReserved));
}

void PathTable::detour(const System& system, NodeId from, NodeId through, NodeId to) {
  const Path a = path(from, through);
  const Path b = path(through, to);
  const PathType type = system.type(through) == NodeType::kGpu ? PathType::kPxn : std::max(a.type, b.type);
  Path& joined = start(from, to, type, std::min(a.bandwidth, b.bandwidth));
  for (const Path& part : {a, b})
    for (std::int32_t i = part.first; i < part.first + part.hops; ++i)
      append(joined, pool_[static_cast<std::size_t>(i)]);
}

}  // namespace xylem
