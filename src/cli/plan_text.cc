#include "cli/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/machine_words.h"
#include "cli/table.h"
#include "connect/rings.h"

namespace xylem::cli {
namespace {

// Rings of more ranks are shown by their ends.
constexpr std::size_t kMostRanks = 32;
constexpr std::size_t kFirstRanks = 20;
constexpr std::size_t kLastRanks = 4;
// Of reasons why something is not used.
constexpr std::size_t kMostReasons = 8;

using Numbers = std::vector<int>;

std::string heading(const Terminal& screen, const std::string& text) {
  return '\n' + screen.paint(Style::kBold, text) + '\n';
}

std::string jobText(const Plan& plan, const std::string& machine, const Terminal& screen) {
  const JobNodes& nodes = plan.connections.nodes;
  const HostPlan& host = plan.hostOf(0);
  std::string text = fmt::format(
      "{} on {} of {}: {}\n", screen.paint(Style::kBold, counted(plan.job().ranks(), "rank")),
      counted(plan.job().hosts(), "host"), machine,
      plan.hostPlans.size() == 1 ? inventory(host.system()) : counted(plan.job().shapeOf(0).ranks(), "GPU"));
  if (nodes.count() != plan.job().hosts())
    text += fmt::format("NCCL counts {}: not all GPUs of a host reach each other without the network\n",
                        counted(nodes.count(), "node"));
  text += plan.connections.lowestSm == plan.connections.highestSm
              ? fmt::format("compute capability {}", plan.connections.lowestSm)
              : fmt::format("compute capabilities {} to {}", plan.connections.lowestSm,
                            plan.connections.highestSm);
  if (plan.job().shapeOf(0).ranks() > 1)
    text += plan.allNvlink ? ", GPUs of a host all joined by NVLink"
                           : ", GPUs of a host not all joined by NVLink";
  text += fmt::format("\nchannels: {}, of which collectives use {}\n", plan.connections.nChannels(),
                      plan.connections.of(0).channels.collective);
  for (const auto& [name, value] : plan.settings) text += fmt::format("set: {}={}\n", name, value);
  return text;
}

struct NamedGraph {
  const char* name;
  const ChannelGraph& graph;
};

std::string remarks(const ChannelGraph& graph) {
  std::vector<std::string> parts;
  if (graph.fallback) parts.emplace_back("nothing found: ranks in simple order");
  if (graph.loadedChannels > 0) parts.emplace_back("from the graph file");
  if (graph.crossNic != 0) parts.emplace_back("crosses NICs");
  const auto exhausted = std::count_if(graph.attempts.begin(), graph.attempts.end(),
                                       [](const SearchAttempt& attempt) { return attempt.exhausted; });
  if (exhausted > 0)
    parts.push_back(fmt::format("{} of {} searches hit the step limit", exhausted, graph.attempts.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string graphsText(const HostPlan& host, const Terminal& screen) {
  const bool nets = host.system().count(NodeType::kNet) > 0;
  std::vector<Column> columns = {
      {"graph"}, {"pattern"}, {"channels", Align::kRight}, {"GB/s", Align::kRight}};
  if (nets) columns.push_back({"to NETs", Align::kRight});
  columns.push_back({"together", Align::kRight});
  columns.push_back({"GPU-GPU"});
  if (nets) columns.push_back({"GPU-NET"});
  columns.push_back({""});
  Table table(columns);
  for (const auto& [title, graph] : {NamedGraph{"ring", host.ring()}, NamedGraph{"tree", host.tree()}}) {
    std::vector<Cell> row = {{title, Style::kBold},
                             {name(graph.pattern)},
                             {std::to_string(graph.nChannels)},
                             {fmt::format("{:.1f}", graph.bwIntra), Style::kGreen}};
    if (nets) row.push_back({fmt::format("{:.1f}", graph.bwInter), Style::kGreen});
    row.push_back({fmt::format("{:.1f}", static_cast<float>(graph.nChannels) * graph.bwIntra)});
    row.push_back({name(graph.typeIntra)});
    if (nets) row.push_back({name(graph.typeInter)});
    row.push_back({remarks(graph), graph.fallback ? Style::kRed : Style::kDim});
    table.add(std::move(row));
  }
  return table.text(screen, 2) + fmt::format("  a GPU sends at most {:.1f} GB/s{}\n", host.totalBandwidth,
                                             nets ? fmt::format(", to a NET {:.1f}", host.maxBandwidth) : "");
}

// "0-2,12" for channels whose lines are equal.
std::string listText(const Numbers& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (end > i) text += fmt::format("{}{}", end == i + 1 ? "," : "-", numbers[end]);
    i = end + 1;
  }
  return text;
}

struct ChannelLine {
  Numbers gpus;
  int startNet;
  int endNet;
  auto operator<=>(const ChannelLine&) const = default;
};

template <typename Line>
struct Group {
  Line line;
  Numbers channels;
};

// Equal lines together, in the order of their first channels.
template <typename Line>
std::vector<Group<Line>> grouped(const std::vector<Line>& lines) {
  std::vector<Group<Line>> groups;
  std::map<Line, std::size_t> known;
  for (std::size_t channel = 0; channel < lines.size(); ++channel) {
    const auto [found, isNew] = known.emplace(lines[channel], groups.size());
    if (isNew) groups.push_back({lines[channel], {}});
    groups[found->second].channels.push_back(static_cast<int>(channel));
  }
  return groups;
}

std::string netText(const System& system, int net) {
  return net < 0 ? "" : nodeLabel(system, system.node(NodeType::kNet, net));
}

// The numbers in order, each at least `digits` wide, with a stroke where the ring leaves a node (nodeOfRank
// may be empty); the middle of long lists left out.
std::string ranksText(const Numbers& ranks, const Numbers& nodeOfRank, std::size_t digits) {
  const auto node = [&](std::size_t i) {
    return nodeOfRank.empty() ? 0 : nodeOfRank[static_cast<std::size_t>(ranks[i])];
  };
  std::string text;
  const bool shortened = ranks.size() > kMostRanks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (shortened && i == kFirstRanks) {
      text += fmt::format(" ... {} more ...", ranks.size() - kFirstRanks - kLastRanks);
      i = ranks.size() - kLastRanks;
    } else if (i > 0 && node(i) != node(i - 1)) {
      text += " |";
    }
    text += fmt::format("{}{:>{}}", text.empty() ? "" : " ", ranks[i], digits);
  }
  return text;
}

std::string channelsText(const System& system, const ChannelGraph& graph, const Terminal& screen) {
  const bool nets = system.count(NodeType::kNet) > 0;
  std::vector<ChannelLine> lines;
  for (int channel = 0; channel < graph.nChannels; ++channel) {
    ChannelLine line{{}, nets ? graph.startNet(channel) : -1, nets ? graph.endNet(channel) : -1};
    for (int i = 0; i < graph.gpuCount; ++i)
      line.gpus.push_back(system.gpu(system.node(NodeType::kGpu, graph.gpu(channel, i))).rank);
    lines.push_back(std::move(line));
  }
  std::vector<Column> columns = {{"channel", Align::kRight}};
  if (nets) columns.push_back({"from"});
  columns.push_back({"ranks"});
  if (nets) columns.push_back({"to"});
  // Each rank as wide as the widest, so that they stand below each other.
  const std::size_t digits = std::to_string(system.count(NodeType::kGpu) - 1).size();
  Table table(columns);
  for (const auto& group : grouped(lines)) {
    std::vector<Cell> row = {{listText(group.channels)}};
    if (nets) row.push_back({netText(system, group.line.startNet), Style::kCyan});
    row.push_back({ranksText(group.line.gpus, {}, digits)});
    if (nets) row.push_back({netText(system, group.line.endNet), Style::kCyan});
    table.add(std::move(row));
  }
  return table.text(screen, 2);
}

std::string ringsText(const Connections& connections, const Terminal& screen) {
  Table table({{"channel", Align::kRight}, {"ranks"}});
  std::vector<Numbers> rings;
  for (int channel = 0; channel < connections.nChannels(); ++channel)
    rings.push_back(ringOf(connections, channel));
  for (const auto& group : grouped(rings))
    table.add({{listText(group.channels)}, {ranksText(group.line, connections.nodes.ofRank, 1)}});
  return table.text(screen, 2);
}

// What the ring channels would like to use and cannot: direct access between neighbours, and of NICs to GPU
// memory.
std::vector<Decision> refusals(const Plan& plan, const HostPlan& host) {
  const System& system = host.system();
  const PathTable& paths = host.paths.paths;
  const Locality locality(system, paths);
  const Reach reach(system, paths, locality, plan.reach);
  const ChannelGraph& ring = host.ring();
  const bool nets = system.count(NodeType::kNet) > 0;
  const auto gpuAt = [&](int channel, int i) { return system.node(NodeType::kGpu, ring.gpu(channel, i)); };
  std::vector<Decision> all;
  for (int channel = 0; channel < ring.nChannels; ++channel) {
    // Inside one host the ring closes; among several it leaves by its last GPU.
    const int pairs = nets ? ring.gpuCount - 1 : ring.gpuCount;
    for (int i = 0; i < pairs && ring.gpuCount > 1; ++i)
      all.push_back(reach.p2p(gpuAt(channel, i), gpuAt(channel, (i + 1) % ring.gpuCount)));
    if (!nets || ring.startNet(channel) < 0 || ring.endNet(channel) < 0) continue;
    const auto net = [&](int index) { return system.node(NodeType::kNet, index); };
    all.push_back(reach.gdr(gpuAt(channel, 0), net(ring.startNet(channel)), Direction::kReceive));
    all.push_back(reach.gdr(gpuAt(channel, ring.gpuCount - 1), net(ring.endNet(channel)), Direction::kSend));
  }
  std::erase_if(all, [](const Decision& decision) { return decision.yes; });
  return all;
}

// The decision's sentence with the names that the tables use.
std::string sentence(const Decision& decision, const System& system) {
  std::string text = explain(decision, system);
  for (const NodeId node : {decision.subject, decision.object}) {
    if (node == kNoNode) continue;
    const std::string formal = system.name(node);
    if (const std::size_t at = text.find(formal); at != std::string::npos)
      text.replace(at, formal.size(), nodeLabel(system, node));
  }
  return text;
}

std::string refusalsText(const Plan& plan, const HostPlan& host, const Terminal& screen) {
  std::vector<std::string> reasons;
  for (const Decision& decision : refusals(plan, host)) {
    std::string reason = sentence(decision, host.system());
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  if (reasons.empty()) return "";
  std::string text = heading(screen, "Not used by the rings, and why");
  for (std::size_t i = 0; i < reasons.size() && i < kMostReasons; ++i) text += "  " + reasons[i] + '\n';
  if (reasons.size() > kMostReasons) text += fmt::format("  and {} more\n", reasons.size() - kMostReasons);
  return text;
}

}  // namespace

std::string planText(const Plan& plan, const std::string& machine, const Terminal& screen) {
  std::string text = jobText(plan, machine, screen);
  for (std::size_t i = 0; i < plan.hostPlans.size(); ++i) {
    const HostPlan& host = *plan.hostPlans[i];
    const std::string which = plan.hostPlans.size() > 1 ? fmt::format("node {}", i) : "a host";
    text += heading(screen, "Graphs of " + which + ", bandwidth per channel");
    text += graphsText(host, screen);
    text += heading(screen, "Ring channels of " + which);
    text += channelsText(host.system(), host.ring(), screen);
    text += heading(screen, "Tree channels of " + which);
    text += channelsText(host.system(), host.tree(), screen);
    text += refusalsText(plan, host, screen);
  }
  text += heading(
      screen, plan.connections.nodes.count() > 1 ? "Rings of the job, | between nodes" : "Rings of the job");
  return text + ringsText(plan.connections, screen);
}

}  // namespace xylem::cli
