#include "cli/planner/path_matrix.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "cli/machine_words.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

// A matrix wider than this is no longer read by anybody.
constexpr std::size_t kMostColumns = 64;

Style styleOf(PathType type) {
  switch (type) {
    case PathType::kLoc:
      return Style::kDim;
    case PathType::kNvl:
    case PathType::kPix:
      return Style::kGreen;
    case PathType::kNvb:
    case PathType::kPxb:
    case PathType::kPxn:
      return Style::kCyan;
    case PathType::kPhb:
      return Style::kYellow;
    case PathType::kSys:
      return Style::kMagenta;
    case PathType::kNet:
    case PathType::kDis:
      return Style::kRed;
  }
  return Style::kPlain;
}

const char* meaning(PathType type, bool hostDevices) {
  switch (type) {
    case PathType::kLoc:
      return "the same node";
    case PathType::kNvl:
      return hostDevices ? "through the memory of their NUMA node"
                         : "over NVLink, or a link from chip to chip";
    case PathType::kNvb:
      return "over NVLink through another GPU";
    case PathType::kPix:
      return "through one PCI switch";
    case PathType::kPxb:
      return "through several PCI switches, without passing a CPU";
    case PathType::kPxn:
      return "to the NIC of another GPU, through that GPU";
    case PathType::kPhb:
      return "through a CPU (PCI host bridge)";
    case PathType::kSys:
      return "from one CPU to another";
    case PathType::kNet:
      return "only over the network";
    case PathType::kDis:
      return "not at all";
  }
  return "";
}

std::vector<NodeId> endpoints(const System& system) {
  std::vector<NodeId> nodes;
  for (const NodeType type : {NodeType::kGpu, NodeType::kNet})
    for (const NodeId node : system.nodes(type)) nodes.push_back(node);
  return nodes;
}

// The CPU reached over the fewest links, and its CPUs.
std::string nearCpu(const System& system, const PathTable& paths, NodeId node) {
  NodeId near = kNoNode;
  for (const NodeId cpu : system.nodes(NodeType::kCpu)) {
    const int hops = paths.path(node, cpu).hops;
    if (hops > 0 && (near == kNoNode || hops < paths.path(node, near).hops)) near = cpu;
  }
  if (near == kNoNode) return "none";
  const std::string label = shortLabel(system, near).substr(std::string_view("CPU").size());
  const std::string& mask = system.cpu(near).affinity;
  return mask.empty() ? label : fmt::format("{} ({})", label, cpuRanges(mask));
}

std::string cellText(const Path& path, Quantity quantity) {
  if (quantity == Quantity::kType) return name(path.type);
  return path.bandwidth > 0 ? fmt::format("{:.1f}", path.bandwidth) : "-";
}

using Counts = std::array<long, kPathTypes>;

Counts countTypes(const PathTable& paths, const std::vector<NodeId>& nodes) {
  Counts counts{};
  for (const NodeId from : nodes)
    for (const NodeId to : nodes)
      if (from != to) ++counts[static_cast<std::size_t>(paths.path(from, to).type)];
  return counts;
}

std::string summary(const PathTable& paths, const std::vector<NodeId>& nodes, const Terminal& screen) {
  const Counts counts = countTypes(paths, nodes);
  Table table({{"type"}, {"pairs", Align::kRight}});
  for (int type = 0; type < kPathTypes; ++type)
    if (const long count = counts[static_cast<std::size_t>(type)]; count > 0)
      table.add({{name(static_cast<PathType>(type)), styleOf(static_cast<PathType>(type))},
                 {std::to_string(count)}});
  return fmt::format("{} GPUs and NETs are too many for a matrix (--json has every pair):\n{}", nodes.size(),
                     table.text(screen, 2));
}

}  // namespace

std::string pathMatrix(const System& system, const PathTable& paths, Quantity quantity,
                       const Terminal& screen) {
  const std::vector<NodeId> nodes = endpoints(system);
  if (nodes.size() > kMostColumns) return summary(paths, nodes, screen);
  std::vector<Column> columns = {{""}};
  for (const NodeId node : nodes) columns.push_back({shortLabel(system, node), Align::kRight});
  columns.push_back({"near CPU"});
  Table table(columns);
  for (const NodeId from : nodes) {
    std::vector<Cell> row = {{shortLabel(system, from), Style::kBold}};
    for (const NodeId to : nodes) {
      const Path& path = paths.path(from, to);
      row.push_back(from == to ? Cell{"X", Style::kDim} : Cell{cellText(path, quantity), styleOf(path.type)});
    }
    row.push_back({nearCpu(system, paths, from)});
    table.add(std::move(row));
  }
  // Wider than the screen is better than broken lines.
  Terminal unlimited = screen;
  unlimited.width = 0;
  return table.text(unlimited);
}

std::string pathLegend(const System& system, const PathTable& paths, const Terminal& screen) {
  const Counts counts = countTypes(paths, endpoints(system));
  bool hostDevices = system.count(NodeType::kGpu) > 0;
  for (const NodeId gpu : system.nodes(NodeType::kGpu))
    hostDevices = hostDevices && system.gpu(gpu).hostDevice;
  Table table({{""}, {""}});
  for (int number = 0; number < kPathTypes; ++number) {
    const auto type = static_cast<PathType>(number);
    if (counts[static_cast<std::size_t>(number)] == 0) continue;
    table.add({{name(type), styleOf(type)}, {meaning(type, hostDevices)}});
  }
  return table.text(screen, 2);
}

}  // namespace xylem::cli
