#include "planner/paths/print.h"

#include <fmt/format.h>

namespace xylem {
namespace {

constexpr std::size_t kLineLimit = 1023;

}  // namespace

std::vector<LogLine> pathLines(const System& system, const PathTable& paths) {
  std::vector<LogLine> lines;
  for (NodeType from : {NodeType::kGpu, NodeType::kNet}) {
    for (NodeId source : system.nodes(from)) {
      std::string text = system.name(source) + " :";
      for (NodeType to : {NodeType::kGpu, NodeType::kNvs, NodeType::kCpu, NodeType::kNet}) {
        for (NodeId target : system.nodes(to)) {
          const Path& path = paths.path(source, target);
          if (path.type == PathType::kDis) continue;
          text += fmt::format("{} ({}/{:.1f}/{}) ", system.name(target), path.hops, path.bandwidth,
                              name(path.type));
        }
      }
      if (text.size() > kLineLimit) text.resize(kLineLimit);
      lines.push_back({LogLevel::kInfo, Subsystem::kGraph, std::move(text)});
    }
  }
  return lines;
}

}  // namespace xylem
