#include "planner/paths/path_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// The nodes between which there are paths, in the order in which the log shows them.
constexpr std::array kTargets = {topology::NodeType::kGpu, topology::NodeType::kNvs,
                                 topology::NodeType::kCpu, topology::NodeType::kNet,
                                 topology::NodeType::kGin, topology::NodeType::kRma};

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
  for (topology::NodeType type : kTargets)
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

int hopsThroughDevices(const topology::System& system, const Path& path, topology::NodeId from,
                       topology::NodeId to) {
  if (path.hops == 0) return 0;
  const auto end = [&](topology::NodeId node) {
    return system.type(node) == topology::NodeType::kGpu && system.isDevice(node) ? 1 : 0;
  };
  return path.hops + end(from) + end(to) + (path.type == PathType::kPxn ? 2 : 0);
}

namespace {

// `GPU/0-12000 (2/24.0/PIX) `
std::string pathText(const std::string& target, int hops, const Path& path) {
  return fmt::format("{} ({}/{:.1f}/{}) ", target, hops, path.bandwidth, name(path.type));
}

// The paths to the devices of GPUs, which no rule of later stages changes.
std::string pathsToDevices(const topology::System& system, const PathTable& plain, topology::NodeId source) {
  const bool fromGpu = system.isDevice(source);
  std::string text;
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) {
    const Path& path = plain.path(source, gpu);
    if (path.type == PathType::kDis || !system.isDevice(gpu)) continue;
    text += pathText(system.deviceName(gpu), path.hops + (fromGpu ? 1 : 0), path);
  }
  return text;
}

}  // namespace

std::vector<LogLine> pathLines(const topology::System& system, const PathTable& paths,
                               const PathTable* plain) {
  std::vector<LogLine> lines;
  for (topology::NodeType from : {topology::NodeType::kGpu, topology::NodeType::kNet,
                                  topology::NodeType::kGin, topology::NodeType::kRma}) {
    for (topology::NodeId source : system.nodes(from)) {
      std::string text = system.name(source) + " :";
      for (topology::NodeType to : kTargets) {
        for (topology::NodeId target : system.nodes(to)) {
          const Path& path = paths.path(source, target);
          if (path.type == PathType::kDis) continue;
          const int hops = plain == nullptr ? path.hops : hopsThroughDevices(system, path, source, target);
          text += pathText(system.name(target), hops, path);
        }
      }
      if (plain != nullptr) text += pathsToDevices(system, *plain, source);
      if (text.size() > kMaxPathLine) text.resize(kMaxPathLine);
      lines.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text)});
    }
  }
  return lines;
}

}  // namespace xylem::paths
