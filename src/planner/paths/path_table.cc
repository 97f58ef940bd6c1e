#include "planner/paths/path_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/error.h"

namespace xylem::paths {
namespace {

constexpr const char* kNames[kPathTypes] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                            "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
// The meanings of the digits 0 to 4, which NCCL had before the names.
constexpr PathType kOldLevels[] = {PathType::kLoc, PathType::kPix, PathType::kPxb, PathType::kPhb,
                                   PathType::kSys};

// The table has a cell for every pair of endpoints: more than this would take gigabytes, and no host has as
// many.
constexpr std::size_t kMaxEndpoints = 8192;
// Most paths have at most this many links. The pool reserves them in advance: reserved memory that stays
// unused is never touched, while growing would copy the links.
constexpr std::size_t kLinksPerPath = 4;
constexpr std::size_t kMaxReserved = 1 << 20;  // links

constexpr std::size_t kMaxPathLine = 1023;  // characters; NCCL cuts longer lines

}  // namespace

const char* name(PathType type) { return kNames[static_cast<int>(type)]; }

std::optional<PathType> parsePathType(std::string_view text) {
  for (int i = 0; i < kPathTypes; ++i)
    if (text == kNames[i]) return static_cast<PathType>(i);
  return std::nullopt;
}

bool knowsType(PathType type, const rules::RuleSet& rules) {
  if (type == PathType::kC2c) return rules.c2cLinks;
  return type != PathType::kP2c || rules.p2cPaths;
}

PathType nextType(PathType type, const rules::RuleSet& rules) {
  do type = static_cast<PathType>(static_cast<int>(type) + 1);
  while (!knowsType(type, rules));
  return type;
}

int typeNumber(PathType type, const rules::RuleSet& rules) {
  const auto hidden = [&](PathType other) { return type > other && !knowsType(other, rules) ? 1 : 0; };
  return static_cast<int>(type) - hidden(PathType::kC2c) - hidden(PathType::kP2c);
}

PathType joinedType(PathType a, PathType b, const rules::RuleSet& rules) {
  const PathType farther = std::max(a, b);
  const bool overC2c = farther == PathType::kPhb && std::min(a, b) == PathType::kC2c;
  return rules.p2cPaths && overC2c ? PathType::kP2c : farther;
}

std::optional<PathType> parseLevel(std::string_view text, const rules::RuleSet& rules) {
  if (const auto type = parsePathType(text); type && *type <= PathType::kSys && knowsType(*type, rules))
    return type;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const long digit = std::strtol(std::string(text).c_str(), nullptr, 10);
  return digit < 5 ? kOldLevels[digit] : PathType::kSys;
}

PathTable::PathTable(const topology::System& system)
    : endpoint_(static_cast<std::size_t>(system.nodeCount()), -1) {
  for (topology::NodeType type : {topology::NodeType::kGpu, topology::NodeType::kNvs,
                                  topology::NodeType::kCpu, topology::NodeType::kNet})
    for (topology::NodeId node : system.nodes(type))
      endpoint_[static_cast<std::size_t>(node)] = static_cast<int>(endpoints_++);
  if (endpoints_ > kMaxEndpoints)
    throw Error(ResultCode::kInvalidArgument,
                "{} GPUs, CPUs and NETs in one host: paths are computed between at most {}", endpoints_,
                kMaxEndpoints);
  paths_.resize(endpoints_ * endpoints_);
  pool_.reserve(std::min(kLinksPerPath * paths_.size(), kMaxReserved));
}

void PathTable::detour(const topology::System& system, topology::NodeId from, topology::NodeId through,
                       topology::NodeId to) {
  const Path a = path(from, through);
  const Path b = path(through, to);
  const PathType type = system.type(through) == topology::NodeType::kGpu
                            ? PathType::kPxn
                            : joinedType(a.type, b.type, system.rules());
  Path& joined = start(from, to, type, std::min(a.bandwidth, b.bandwidth));
  for (const Path& part : {a, b})
    for (std::int32_t i = part.first; i < part.first + part.hops; ++i)
      append(joined, pool_[static_cast<std::size_t>(i)]);
}

std::vector<LogLine> pathLines(const topology::System& system, const PathTable& paths) {
  std::vector<LogLine> lines;
  for (topology::NodeType from : {topology::NodeType::kGpu, topology::NodeType::kNet}) {
    for (topology::NodeId source : system.nodes(from)) {
      std::string text = system.name(source) + " :";
      for (topology::NodeType to : {topology::NodeType::kGpu, topology::NodeType::kNvs,
                                    topology::NodeType::kCpu, topology::NodeType::kNet}) {
        for (topology::NodeId target : system.nodes(to)) {
          const Path& path = paths.path(source, target);
          if (path.type == PathType::kDis) continue;
          text += fmt::format("{} ({}/{:.1f}/{}) ", system.name(target), path.hops, path.bandwidth,
                              name(path.type));
        }
      }
      if (text.size() > kMaxPathLine) text.resize(kMaxPathLine);
      lines.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text)});
    }
  }
  return lines;
}

}  // namespace xylem::paths
