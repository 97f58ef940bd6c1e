#include "cli/insight/optimum_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/bound_text.h"
#include "cli/machine_words.h"
#include "cli/number_list.h"
#include "cli/plan_host_text.h"
#include "cli/table.h"
#include "planner/tuning/choice.h"

namespace xylem::cli {
namespace {

constexpr double kPercent = 100;
// As good as the bound.
constexpr double kAtBound = 0.999;
// Large enough for bandwidth to decide.
constexpr std::uint64_t kLargeMessage = std::uint64_t{1} << 30;

std::string channelsOf(const ChannelGraph& graph, bool nets) {
  const float each = nets ? std::min(graph.bwIntra, graph.bwInter) : graph.bwIntra;
  return fmt::format("{} x {:g}", graph.nChannels, each);
}

struct Row {
  GraphKind kind;
  const GraphOptimum& optimum;
};
std::vector<Row> rowsOf(const Optimum& optimum) {
  return {{GraphKind::kRing, optimum.ring}, {GraphKind::kTree, optimum.tree}};
}

// What NCCL's model says of the largest messages.
double predicted(const Plan& plan, Collective collective) {
  const Choice choice = choose(plan.tuning.front(), {.collective = collective, .bytes = kLargeMessage});
  return choice.best() != nullptr ? static_cast<double>(choice.best()->time) : 0;
}

std::string proofText(const GraphOptimum& optimum, const System& system) {
  if (optimum.best >= kAtBound * optimum.bound.bandwidth) return limitText(optimum.bound, system);
  if (optimum.best >= kAtBound * optimum.ceiling)
    return fmt::format("no more in whole channels, equally fast; {}", limitText(optimum.bound, system));
  return fmt::format("not proven to be the best: at most {:.2f}; {}", optimum.ceiling,
                     limitText(optimum.bound, system));
}

std::string table(const Optimization& result, const Terminal& screen) {
  const HostPlan& host = result.plan->hostOf(0);
  const bool nets = host.system().count(NodeType::kNet) > 0;
  Table table({{"graph"},
               {"searched"},
               {"GB/s", Align::kRight},
               {"best"},
               {"GB/s", Align::kRight},
               {"more", Align::kRight},
               {"bound", Align::kRight},
               {"limit"}});
  for (const Row& row : rowsOf(result.optimum)) {
    const GraphOptimum& o = row.optimum;
    const double more = o.found > 0 ? (o.best / o.found - 1) * kPercent : 0;
    table.add({{name(row.kind), Style::kBold},
               {channelsOf(host.graphs[row.kind], nets)},
               {fmt::format("{:.2f}", o.found)},
               {channelsOf(result.optimum.graphs[row.kind], nets)},
               {fmt::format("{:.2f}", o.best), Style::kGreen},
               {more < 0.05 ? "-" : fmt::format("{:.1f}%", more), more < 0.05 ? Style::kDim : Style::kGreen},
               {fmt::format("{:.2f}", o.bound.bandwidth)},
               {proofText(o, host.system()), Style::kDim}});
  }
  return table.text(screen, 2);
}

Json graphJson(const ChannelGraph& graph, const System& system) {
  Json channels = Json::array();
  for (int c = 0; c < graph.nChannels; ++c) {
    Json gpus = Json::array();
    for (int i = 0; i < graph.gpuCount; ++i)
      gpus.push_back(system.gpu(system.node(NodeType::kGpu, graph.gpu(c, i))).rank);
    Json channel = {{"ranks", std::move(gpus)}};
    if (system.count(NodeType::kNet) > 0 && graph.startNet(c) >= 0)
      channel["nets"] = {system.name(system.node(NodeType::kNet, graph.startNet(c))),
                         system.name(system.node(NodeType::kNet, graph.endNet(c)))};
    channels.push_back(std::move(channel));
  }
  return {{"pattern", name(graph.pattern)},     {"crossNic", graph.crossNic},
          {"nChannels", graph.nChannels},       {"bwIntra", number(graph.bwIntra)},
          {"bwInter", number(graph.bwInter)},   {"typeIntra", name(graph.typeIntra)},
          {"typeInter", name(graph.typeInter)}, {"channels", std::move(channels)}};
}

}  // namespace

std::string optimumText(const Optimization& result, const Terminal& screen) {
  const Plan& plan = *result.plan;
  const System& system = plan.hostOf(0).system();
  std::string text =
      fmt::format("{} on {} of {}\n", screen.paint(Style::kBold, counted(plan.job().ranks(), "rank")),
                  counted(plan.job().hosts(), "host"), result.subject);
  if (result.optimum.ring.bound.bandwidth == 0)
    return text + "one GPU without a network: there is nothing to choose\n";
  text += screen.heading("Bandwidth of a host's channels together");
  text += table(result, screen);
  for (const auto& [kind, title] :
       {std::pair{GraphKind::kRing, "Ring channels"}, {GraphKind::kTree, "Tree channels"}})
    text += screen.heading(title) + channelsText(system, result.optimum.graphs[kind], screen);
  const double before = predicted(plan, Collective::kAllReduce);
  const double after = predicted(*result.planned, Collective::kAllReduce);
  text += fmt::format(
      "\nAllReduce of 1 GiB, as NCCL's model predicts: {:.1f} ms, with these channels {:.1f} ms\n",
      before / 1000, after / 1000);
  text += result.output.empty() ? "-o FILE writes them as a graph file, for NCCL_GRAPH_FILE\n"
                                : fmt::format("{} is for NCCL_GRAPH_FILE on every host\n", result.output);
  return text;
}

std::string optimumJson(const Optimization& result) {
  const Plan& plan = *result.plan;
  const HostPlan& host = plan.hostOf(0);
  Json json = {{"format", "xylem-optimum-1"},
               {"topology", result.subject},
               {"hosts", plan.job().hosts()},
               {"ranks", plan.job().ranks()},
               {"seconds", result.seconds}};
  for (const Row& row : rowsOf(result.optimum)) {
    const GraphOptimum& o = row.optimum;
    json[name(row.kind)] = {{"found", o.found},
                            {"best", o.best},
                            {"ceiling", o.ceiling},
                            {"improved", o.improved},
                            {"bound", boundJson(o.bound, host.system())},
                            {"searched", graphJson(host.graphs[row.kind], host.system())},
                            {"graph", graphJson(result.optimum.graphs[row.kind], host.system())}};
  }
  Json times = Json::object();
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather})
    times[name(collective)] = {{"bytes", kLargeMessage},
                               {"searched", predicted(plan, collective)},
                               {"best", predicted(*result.planned, collective)}};
  json["predicted"] = std::move(times);
  json["graphFile"] = result.file;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xylem::cli
