#include "cli/host_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "cli/bound_view.h"
#include "cli/machine_text.h"
#include "cli/number_text.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

std::string baseName(const plan::HostGroup& group) {
  std::filesystem::path file = group.topology;
  file = file.filename();
  if (file.extension() == ".xml") file = file.stem();
  std::string text = file.empty() || file == "-" ? "this machine" : file.string();
  if (!group.gpus.empty()) text += fmt::format("@{}", fmt::join(group.gpus, ","));
  return text;
}

void nameShape(std::vector<HostKind>& kinds, const connect::HostShape& shape, const std::string& base) {
  const std::set<int> views(shape.viewOfLocal.begin(), shape.viewOfLocal.end());
  int part = 0;
  for (int view : views) {
    ++part;
    kinds[static_cast<std::size_t>(view)].name =
        views.size() == 1 ? base : fmt::format("part {} of {}", part, base);
  }
}

// Numbers kinds of the same name: their files lie in different folders.
void tellApart(std::vector<HostKind>& kinds) {
  std::map<std::string, int> uses;
  for (const HostKind& kind : kinds) ++uses[kind.name];
  std::map<std::string, int> seen;
  for (HostKind& kind : kinds)
    if (uses[kind.name] > 1) kind.name += fmt::format(" ({})", ++seen[kind.name]);
}

}  // namespace

std::vector<HostKind> hostKinds(const plan::Plan& plan) {
  const connect::Job& job = plan.job();
  std::vector<HostKind> kinds(plan.hostPlans.size());
  // Backwards: if several groups have the same description, the first one's name stays.
  for (auto group = plan.groups.rbegin(); group != plan.groups.rend(); ++group)
    nameShape(kinds, job.shapeOf(group->firstHost), baseName(*group));
  tellApart(kinds);
  for (int rank = 0; rank < job.ranks(); ++rank)
    kinds[static_cast<std::size_t>(job.viewOf(rank))].ranks.push_back(rank);
  for (int host = 0; host < job.hosts(); ++host) {
    const std::vector<int>& views = job.shapeOf(host).viewOfLocal;
    for (int view : std::set<int>(views.begin(), views.end()))
      kinds[static_cast<std::size_t>(view)].hosts.push_back(host);
  }
  return kinds;
}

std::string smText(const plan::HostPlan& host) {
  const topology::System& system = host.system();
  std::set<int> sms;
  for (topology::NodeId gpu : system.nodes(topology::NodeType::kGpu)) sms.insert(system.gpu(gpu).sm);
  return fmt::format("sm {}", fmt::join(sms, " and "));
}

namespace {

// More reasons are counted instead of listed.
constexpr std::size_t kMaxReasons = 8;

struct NamedGraph {
  search::GraphKind kind;
  const char* title;
};
constexpr std::array<NamedGraph, search::kGraphKinds> kGraphs = {
    {{search::GraphKind::kRing, "ring"},
     {search::GraphKind::kTree, "tree"},
     {search::GraphKind::kCollnetChain, "CollNet chain"},
     {search::GraphKind::kCollnetDirect, "CollNet direct"},
     {search::GraphKind::kNvls, "NVLS"}}};

std::string remarks(const search::ChannelGraph& graph) {
  std::vector<std::string> parts;
  if (graph.fallback) parts.emplace_back("nothing found: ranks in simple order");
  if (graph.loadedChannels > 0) parts.emplace_back("from the graph file");
  if (graph.crossNic != 0) parts.emplace_back("crosses NICs");
  const auto exhausted =
      std::count_if(graph.attempts.begin(), graph.attempts.end(),
                    [](const search::SearchAttempt& attempt) { return attempt.exhausted; });
  if (exhausted > 0)
    parts.push_back(fmt::format("{} of {} searches hit the step limit", exhausted, graph.attempts.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string graphsText(const plan::HostPlan& host, const Terminal& screen) {
  const bool nets = host.system().usesNets();
  std::vector<Column> columns = {
      {"graph"}, {"pattern"}, {"channels", Align::kRight}, {"GB/s", Align::kRight}};
  if (nets) columns.push_back({"to NETs", Align::kRight});
  columns.push_back({"together", Align::kRight});
  columns.push_back({"GPU-GPU"});
  if (nets) columns.push_back({"GPU-NET"});
  columns.push_back({""});
  Table table(columns);
  for (const auto& [kind, title] : kGraphs) {
    const search::ChannelGraph& graph = host.graphs[kind];
    if (graph.nChannels == 0) continue;
    std::vector<Cell> row = {{title, Style::kBold},
                             {search::name(graph.pattern)},
                             {std::to_string(graph.nChannels)},
                             {fmt::format("{:.1f}", graph.bwIntra), Style::kGreen}};
    if (nets) row.push_back({fmt::format("{:.1f}", graph.bwInter), Style::kGreen});
    row.push_back({fmt::format("{:.1f}", optimum::totalBandwidth(graph, nets))});
    row.push_back({paths::name(graph.typeIntra)});
    if (nets) row.push_back({paths::name(graph.typeInter)});
    row.push_back({remarks(graph), graph.fallback ? Style::kRed : Style::kDim});
    table.add(std::move(row));
  }
  return table.text(screen, 2) + fmt::format("  a GPU sends at most {:.1f} GB/s{}\n", host.totalBandwidth,
                                             nets ? fmt::format(", to a NET {:.1f}", host.maxBandwidth) : "");
}

struct ChannelLine {
  std::vector<int> gpus;
  int startNet;
  int endNet;
  auto operator<=>(const ChannelLine&) const = default;
};

std::string netText(const topology::System& system, int net) {
  return net < 0 ? "" : nodeLabel(system, system.node(topology::NodeType::kNet, net));
}

std::vector<paths::Decision> refusals(const plan::Plan& plan, const plan::HostPlan& host) {
  const topology::System& system = host.system();
  const paths::PathTable& paths = host.paths.paths;
  const paths::Locality locality(system, paths);
  const paths::Reach reach(system, paths, locality, plan.reach);
  const search::ChannelGraph& ring = host.ring();
  const bool nets = system.usesNets();
  const auto gpuAt = [&](int channel, int i) {
    return system.node(topology::NodeType::kGpu, ring.gpu(channel, i));
  };
  std::vector<paths::Decision> all;
  for (int channel = 0; channel < ring.nChannels; ++channel) {
    // Inside one host the ring closes; among several it leaves by its last GPU.
    const int pairs = nets ? ring.gpuCount - 1 : ring.gpuCount;
    for (int i = 0; i < pairs && ring.gpuCount > 1; ++i)
      all.push_back(reach.p2p(gpuAt(channel, i), gpuAt(channel, (i + 1) % ring.gpuCount)));
    if (!nets || ring.startNet(channel) < 0 || ring.endNet(channel) < 0) continue;
    const auto net = [&](int index) { return system.node(topology::NodeType::kNet, index); };
    all.push_back(reach.gdr(gpuAt(channel, 0), net(ring.startNet(channel)), paths::Direction::kReceive));
    all.push_back(
        reach.gdr(gpuAt(channel, ring.gpuCount - 1), net(ring.endNet(channel)), paths::Direction::kSend));
  }
  std::erase_if(all, [](const paths::Decision& decision) { return decision.yes; });
  return all;
}

std::string refusalsText(const HostReport& report, const std::string& which, const Terminal& screen) {
  const topology::System& system = report.host->system();
  const auto label = [&](topology::NodeId node) { return nodeLabel(system, node); };
  std::vector<std::string> reasons;
  for (const paths::Decision& decision : report.refusals) {
    std::string reason = paths::explain(decision, label).sentence();
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  if (reasons.empty()) return "";
  std::string text = screen.heading("What the rings of " + which + " do without, and why");
  for (std::size_t i = 0; i < reasons.size() && i < kMaxReasons; ++i) text += "  " + reasons[i] + '\n';
  if (reasons.size() > kMaxReasons) text += fmt::format("  and {} more\n", reasons.size() - kMaxReasons);
  return text;
}

std::string boundsText(const HostReport& report, const Terminal& screen) {
  std::string text;
  for (const optimum::PlanBound& bound : report.bounds)
    text += fmt::format("  {}\n", boundLine(bound, *report.host, screen));
  return text;
}

}  // namespace

std::string channelsText(const topology::System& system, const search::ChannelGraph& graph,
                         const Terminal& screen) {
  const bool nets = system.usesNets();
  std::vector<ChannelLine> lines;
  for (int channel = 0; channel < graph.nChannels; ++channel) {
    ChannelLine line{{}, nets ? graph.startNet(channel) : -1, nets ? graph.endNet(channel) : -1};
    for (int i = 0; i < graph.gpuCount; ++i)
      line.gpus.push_back(system.gpu(system.node(topology::NodeType::kGpu, graph.gpu(channel, i))).rank);
    lines.push_back(std::move(line));
  }
  std::vector<Column> columns = {{"channel", Align::kRight}};
  if (nets) columns.push_back({"from"});
  columns.push_back({"ranks"});
  if (nets) columns.push_back({"to"});
  // All ranks get the width of the widest, so that they stand below each other.
  const std::size_t digits = std::to_string(system.count(topology::NodeType::kGpu) - 1).size();
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

HostReport hostReport(const plan::Plan& plan, const plan::HostPlan& host, optimum::Effort effort) {
  return {&host, optimum::boundsOf(plan, host, effort), refusals(plan, host)};
}

std::string hostText(const HostReport& report, const std::string& which, const Terminal& screen) {
  const plan::HostPlan& host = *report.host;
  std::string text = screen.heading("Graphs of " + which + ", bandwidth per channel");
  text += graphsText(host, screen) + boundsText(report, screen);
  text += screen.heading("Ring channels of " + which);
  text += channelsText(host.system(), host.ring(), screen);
  text += screen.heading("Tree channels of " + which);
  text += channelsText(host.system(), host.tree(), screen);
  return text + refusalsText(report, which, screen);
}

}  // namespace xylem::cli
