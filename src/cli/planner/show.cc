// xylem show: a machine as the topology engine sees it.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/machine_text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/version_input.h"
#include "planner/paths/find_paths.h"
#include "planner/paths/job_paths.h"
#include "planner/paths/path_table.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/planner.h"
#include "planner/topology/bandwidths.h"
#include "planner/topology/complete.h"
#include "planner/topology/system.h"
#include "planner/topology/system_builder.h"

namespace xylem::cli {
namespace {

// The entries of a matrix of paths.
enum class Quantity { kType, kBandwidth };

struct Strokes {
  const char* branch;
  const char* lastBranch;
  const char* bar;
  const char* gap;
  const char* dash;
};
constexpr Strokes kBoxes = {"├─ ", "└─ ", "│  ", "   ", "─"};
constexpr Strokes kAscii = {"|- ", "`- ", "|  ", "   ", "-"};

Style styleOf(topology::NodeType type) {
  switch (type) {
    case topology::NodeType::kGpu:
      return Style::kGreen;
    case topology::NodeType::kNet:
      return Style::kCyan;
    case topology::NodeType::kCpu:
      return Style::kBold;
    case topology::NodeType::kNvs:
      return Style::kMagenta;
    default:
      return Style::kPlain;
  }
}

// Draws the PCI tree below each CPU, depth first. All other links cross the tree: each end shows them as a
// line of its own, without going on from there.
class Tree {
 public:
  Tree(const topology::Document& document, const topology::System& system, const Terminal& screen)
      : document_(document), system_(system), screen_(screen), strokes_(screen.unicode ? kBoxes : kAscii) {}

  std::string draw() {
    for (const topology::NodeId cpu : system_.nodes(topology::NodeType::kCpu)) {
      text_ += nodeText(cpu) + '\n';
      drawBelow(cpu, topology::kNoNode, "");
    }
    return std::move(text_);
  }

 private:
  // Links drawn as one line: a link down the tree, or links of equal bandwidth to several peers across it.
  struct Branch {
    topology::LinkType type;
    float bandwidth;
    std::vector<topology::NodeId> to;
    bool descend;
  };

  // A host device hangs below the link that it uses, the one to its NUMA node's memory.
  bool isHostDevice(topology::NodeId node) const {
    return system_.type(node) == topology::NodeType::kGpu && system_.gpu(node).hostDevice;
  }

  bool hangsBelow(const topology::Link& link) const {
    if (link.type == topology::LinkType::kNet) return system_.type(link.to) == topology::NodeType::kNet;
    return link.type == (isHostDevice(link.to) ? topology::LinkType::kNvl : topology::LinkType::kPci) &&
           system_.type(link.to) != topology::NodeType::kCpu;
  }

  bool isHidden(const topology::Link& link, topology::NodeId parent) const {
    const bool onChip = link.type == topology::LinkType::kNvl || link.type == topology::LinkType::kC2c;
    const bool up = link.to == parent && !onChip;
    // Also hidden: a CPU's end of links that are drawn at its GPUs, and links that host devices do not use.
    const bool shownByGpu = system_.type(link.from) == topology::NodeType::kCpu && onChip;
    return up || shownByGpu || isHostDevice(link.from) || isHostDevice(link.to);
  }

  std::vector<Branch> branches(topology::NodeId node, topology::NodeId parent) const {
    std::vector<Branch> result;
    for (const topology::Link& link : system_.links(node)) {
      if (hangsBelow(link)) {
        if (link.to != parent) result.push_back({link.type, link.bandwidth, {link.to}, true});
        continue;
      }
      if (isHidden(link, parent)) continue;
      Branch* last = result.empty() ? nullptr : &result.back();
      if (last != nullptr && !last->descend && last->type == link.type && last->bandwidth == link.bandwidth)
        last->to.push_back(link.to);
      else
        result.push_back({link.type, link.bandwidth, {link.to}, false});
    }
    return result;
  }

  void drawBelow(topology::NodeId node, topology::NodeId parent, const std::string& indent) {
    const std::vector<Branch> all = branches(node, parent);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Branch& branch = all[i];
      const bool isLast = i + 1 == all.size();
      const std::string stroke = indent + (isLast ? strokes_.lastBranch : strokes_.branch);
      text_ += screen_.paint(Style::kDim, stroke + linkText(branch)) + ' ';
      text_ += branch.descend ? nodeText(branch.to.front()) : peersText(branch.to);
      text_ += '\n';
      // A NET is a leaf: its only link leads back to the NIC.
      if (branch.descend && branch.type != topology::LinkType::kNet)
        drawBelow(branch.to.front(), node, indent + (isLast ? strokes_.gap : strokes_.bar));
    }
  }

  std::string linkText(const Branch& branch) const {
    // The engine marks links that are never a bottleneck by this bandwidth.
    const bool free = branch.bandwidth >= topology::kLocalBandwidth;
    return fmt::format("{} {} {}", topology::name(branch.type),
                       free ? "unlimited" : fmt::format("{:.1f}", branch.bandwidth), strokes_.dash);
  }

  std::string nodeText(topology::NodeId node) const {
    const std::string detail = nodeDetail(document_, system_, node);
    return screen_.paint(styleOf(system_.type(node)), nodeLabel(system_, node)) +
           (detail.empty() ? "" : "  " + detail);
  }

  std::string peersText(const std::vector<topology::NodeId>& peers) const {
    std::string text;
    for (const topology::NodeId peer : peers)
      text +=
          (text.empty() ? "" : ", ") + screen_.paint(styleOf(system_.type(peer)), nodeLabel(system_, peer));
    return text;
  }

  const topology::Document& document_;
  const topology::System& system_;
  const Terminal& screen_;
  const Strokes& strokes_;
  std::string text_;
};

// Each CPU with the nodes below it, and the links that cross the tree.
//
//   CPU 0  Intel family 6 model 143, NUMA node 0, CPUs 0-15
//   |- PCI 48.0 - switch 0000:15:00.0  Broadcom c030
//   |  `- PCI 48.0 - GPU 0  0000:1b:00.0, dev 0, sm 90
//   |     `- NVL 370.8 - NVSwitch
//   `- SYS 10.0 - CPU 1
std::string machineTree(const topology::Document& document, const topology::System& system,
                        const Terminal& screen) {
  return Tree(document, system, screen).draw();
}

// Wider matrices are unreadable.
constexpr std::size_t kMaxColumns = 64;

Style styleOf(paths::PathType type) {
  switch (type) {
    case paths::PathType::kLoc:
      return Style::kDim;
    case paths::PathType::kNvl:
    case paths::PathType::kC2c:
    case paths::PathType::kPix:
      return Style::kGreen;
    case paths::PathType::kNvb:
    case paths::PathType::kPxb:
    case paths::PathType::kP2c:
    case paths::PathType::kPxn:
      return Style::kCyan;
    case paths::PathType::kPhb:
      return Style::kYellow;
    case paths::PathType::kSys:
      return Style::kMagenta;
    case paths::PathType::kNet:
    case paths::PathType::kDis:
      return Style::kRed;
  }
  return Style::kPlain;
}

const char* meaning(paths::PathType type, bool hostDevices) {
  switch (type) {
    case paths::PathType::kLoc:
      return "the same node";
    case paths::PathType::kNvl:
      return hostDevices ? "through the memory of their NUMA node"
                         : "over NVLink, or a link from chip to chip";
    case paths::PathType::kC2c:
      return "over a link from chip to chip";
    case paths::PathType::kP2c:
      return "to a NIC behind the CPU at the other end of a link from chip to chip";
    case paths::PathType::kNvb:
      return "over NVLink through another GPU";
    case paths::PathType::kPix:
      return "through one PCI switch";
    case paths::PathType::kPxb:
      return "through several PCI switches, without passing a CPU";
    case paths::PathType::kPxn:
      return "to the NIC of another GPU, through that GPU";
    case paths::PathType::kPhb:
      return "through a CPU (PCI host bridge)";
    case paths::PathType::kSys:
      return "from one CPU to another";
    case paths::PathType::kNet:
      return "only over the network";
    case paths::PathType::kDis:
      return "not at all";
  }
  return "";
}

std::vector<topology::NodeId> endpoints(const topology::System& system) {
  std::vector<topology::NodeId> nodes;
  for (const topology::NodeType type : {topology::NodeType::kGpu, topology::NodeType::kNet})
    for (const topology::NodeId node : system.nodes(type)) nodes.push_back(node);
  return nodes;
}

// The NUMA node reached over the fewest links, and its CPUs: "0 (0-15)".
std::string nearCpu(const topology::System& system, const paths::PathTable& paths, topology::NodeId node) {
  topology::NodeId near = topology::kNoNode;
  for (const topology::NodeId cpu : system.nodes(topology::NodeType::kCpu)) {
    const int hops = paths.path(node, cpu).hops;
    if (hops > 0 && (near == topology::kNoNode || hops < paths.path(node, near).hops)) near = cpu;
  }
  if (near == topology::kNoNode) return "none";
  const std::string label = shortLabel(system, near).substr(std::string_view("CPU").size());
  const std::string& mask = system.cpu(near).affinity;
  return mask.empty() ? label : fmt::format("{} ({})", label, cpuRanges(mask));
}

std::string cellText(const paths::Path& path, Quantity quantity) {
  if (quantity == Quantity::kType) return paths::name(path.type);
  return path.bandwidth > 0 ? fmt::format("{:.1f}", path.bandwidth) : "-";
}

using Counts = std::array<long, paths::kPathTypes>;

Counts countTypes(const paths::PathTable& paths, const std::vector<topology::NodeId>& nodes) {
  Counts counts{};
  for (const topology::NodeId from : nodes)
    for (const topology::NodeId to : nodes)
      if (from != to) ++counts[static_cast<std::size_t>(paths.path(from, to).type)];
  return counts;
}

std::string summary(const paths::PathTable& paths, const std::vector<topology::NodeId>& nodes,
                    const Terminal& screen) {
  const Counts counts = countTypes(paths, nodes);
  Table table({{"type"}, {"pairs", Align::kRight}});
  for (int type = 0; type < paths::kPathTypes; ++type)
    if (const long count = counts[static_cast<std::size_t>(type)]; count > 0)
      table.add(
          {{paths::name(static_cast<paths::PathType>(type)), styleOf(static_cast<paths::PathType>(type))},
           {std::to_string(count)}});
  return fmt::format("{} GPUs and NETs are too many for a matrix (--json has every pair):\n{}", nodes.size(),
                     table.text(screen, 2));
}

// The paths from row to column. For more GPUs and NETs than a matrix is readable with, counts the pairs of
// each path type instead.
//
//         GPU0  GPU1  NET0  near CPU
//   GPU0     X   NVL   PIX  0 (0-15)
//   GPU1   NVL     X   SYS  1 (16-31)
//   NET0   PIX   SYS     X  0 (0-15)
std::string pathMatrix(const topology::System& system, const paths::PathTable& paths, Quantity quantity,
                       const Terminal& screen) {
  const std::vector<topology::NodeId> nodes = endpoints(system);
  if (nodes.size() > kMaxColumns) return summary(paths, nodes, screen);
  std::vector<Column> columns = {{""}};
  for (const topology::NodeId node : nodes) columns.push_back({shortLabel(system, node), Align::kRight});
  columns.push_back({"near CPU"});
  Table table(columns);
  for (const topology::NodeId from : nodes) {
    std::vector<Cell> row = {{shortLabel(system, from), Style::kBold}};
    for (const topology::NodeId to : nodes) {
      const paths::Path& path = paths.path(from, to);
      row.push_back(from == to ? Cell{"X", Style::kDim} : Cell{cellText(path, quantity), styleOf(path.type)});
    }
    row.push_back({nearCpu(system, paths, from)});
    table.add(std::move(row));
  }
  return table.text(screen);
}

// The meaning of the path types that occur in this machine.
std::string pathLegend(const topology::System& system, const paths::PathTable& paths,
                       const Terminal& screen) {
  const Counts counts = countTypes(paths, endpoints(system));
  bool hostDevices = system.count(topology::NodeType::kGpu) > 0;
  for (const topology::NodeId gpu : system.nodes(topology::NodeType::kGpu))
    hostDevices = hostDevices && system.gpu(gpu).hostDevice;
  Table table({{""}, {""}});
  for (int number = 0; number < paths::kPathTypes; ++number) {
    const auto type = static_cast<paths::PathType>(number);
    if (counts[static_cast<std::size_t>(number)] == 0) continue;
    table.add({{paths::name(type), styleOf(type)}, {meaning(type, hostDevices)}});
  }
  return table.text(screen, 2);
}

// Nodes, links and paths, as the `host` section of `xylem plan --json` has them.
plan::Json machineJson(const topology::Document& document, const topology::System& system,
                       const paths::PathTable& paths) {
  plan::Json json = {{"format", "xylem-machine-1"},
                     {"topology", document.file()},
                     {"counts", plan::countsJson(system)},
                     {"nodes", plan::nodesJson(system)},
                     {"links", plan::linksJson(system)}};
  if (!system.overrides().empty()) json["overrides"] = plan::overridesJson(system, document);
  json["paths"] = plan::pathsJson(system, paths);
  return json;
}

struct ShowArguments {
  std::string file;
  std::string nccl;
  bool json = false;
  bool bandwidth = false;
};

constexpr const char* kShowExamples = R"(Examples:
  xylem show                         this machine
  xylem show dgxh100.xml             the machine of a topology file
  xylem show dgxh100.xml --bandwidth with a second matrix: GB/s from row to column
  xylem show dgxh100.xml --json      nodes, links and paths for other programs
  NCCL_P2P_DISABLE=1 xylem show dgxh100.xml
                                     what the setting changes: paths obey the NCCL_* variables)";

std::string heading(const Terminal& screen, const std::string& text) {
  return screen.paint(Style::kBold, text) + '\n';
}

// Paths after NCCL's adjustments. For a machine that NCCL refuses, which people may want to see, plain paths.
paths::PathTable pathsToShow(const topology::System& system, const paths::ReachOptions& reach) {
  try {
    return paths::findUsablePaths(system, reach);
  } catch (const Error& error) {
    warn(fmt::format("{}; the paths shown are those of the wires alone", error.what()));
    return paths::findPaths(system, !reach.nvbDisable);
  }
}

int runShow(const ShowArguments& options) {
  const Settings settings = readSettings();
  plan::PlanRequest asked;
  asked.nccl = rulesNamed(options.nccl, settings);
  const auto rules = plan::rulesFor(asked, settings);  // some variables change what a description means
  const topology::Document document = topology::completeForJob(readMachine(options.file, settings), *rules);
  const topology::System system = topology::buildSystem(document, rules);
  const paths::PathTable paths = pathsToShow(system, paths::ReachOptions::from(settings, *rules));
  if (options.json) {
    writeJson(machineJson(document, system, paths), 2);
    return kOk;
  }
  const Terminal screen = terminalOf(stdout);
  std::string text =
      fmt::format("{}: {}\n\n", screen.paint(Style::kBold, machineName(options.file)), inventory(system));
  for (const std::string& given : topology::overrideTexts(document, rules))
    text += screen.paint(Style::kYellow, "override: " + given) + '\n';
  text += heading(screen, "Links, GB/s in each direction");
  text += machineTree(document, system, screen);
  if (system.count(topology::NodeType::kGpu) + system.count(topology::NodeType::kNet) > 0) {
    text += '\n' + heading(screen, "Paths, from row to column");
    text += pathMatrix(system, paths, Quantity::kType, screen);
    if (options.bandwidth) {
      text += '\n' + heading(screen, "Bandwidth of the paths, GB/s");
      text += pathMatrix(system, paths, Quantity::kBandwidth, screen);
    }
    text += '\n' + pathLegend(system, paths, screen);
  }
  writeOut(text);
  return kOk;
}

}  // namespace

void addShow(CommandLine& line) {
  const auto options = std::make_shared<ShowArguments>();
  Command command = line.add("show", "draw a machine: nodes, links, and how far apart they are");
  command.option("FILE", options->file, "topology XML; none or - for this machine");
  addVersionOption(command, options->nccl);
  command.flag("--bandwidth", options->bandwidth, "also the bandwidth of every path");
  command.flag("--json", options->json, "print JSON");
  command.footer(kShowExamples);
  command.action([options] { return runShow(*options); });
}

}  // namespace xylem::cli
