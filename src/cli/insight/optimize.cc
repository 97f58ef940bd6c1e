// xylem optimize: the best channels for a job's hosts, as a graph file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/bound_view.h"
#include "cli/commands.h"
#include "cli/host_view.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/error.h"
#include "core/settings.h"
#include "core/text_file.h"
#include "insight/optimum/optimum.h"
#include "planner/plan/json_value.h"
#include "planner/search/graph_file.h"
#include "planner/tuning/choice.h"

namespace xylem::cli {
namespace {

struct Optimization {
  std::string subject;                     // "dgxh100.xml"
  std::shared_ptr<const plan::Plan> plan;  // with the channels that the search found
  optimum::Optimum optimum;
  // The times, in microseconds, that NCCL's model predicts for a large message.
  struct Times {
    Collective collective;
    double searched, best;
  };
  std::vector<Times> predicted;
  double seconds = 0;  // that finding them took
  std::string file;    // the text of the graph file
  std::string output;  // the graph file's name; empty if it was not written
  std::vector<std::string> assumptions;
};

constexpr double kPercent = 100;
// From this share on, a bandwidth counts as equal to the bound.
constexpr double kAtBound = 0.999;
// Large enough that the time depends on the bandwidth alone, in bytes.
constexpr std::uint64_t kLargeMessage = std::uint64_t{1} << 30;

std::string channelsOf(const search::ChannelGraph& graph, bool nets) {
  const float each = nets ? std::min(graph.bwIntra, graph.bwInter) : graph.bwIntra;
  return fmt::format("{} x {:g}", graph.nChannels, each);
}

struct Row {
  search::GraphKind kind;
  const optimum::GraphOptimum& optimum;
};
std::vector<Row> rowsOf(const optimum::Optimum& optimum) {
  return {{search::GraphKind::kRing, optimum.ring}, {search::GraphKind::kTree, optimum.tree}};
}

double predictedTime(const plan::Plan& plan, Collective collective) {
  const tuning::Choice choice =
      tuning::choose(plan.tuning.front(), {.collective = collective, .bytes = kLargeMessage});
  return choice.best() != nullptr ? static_cast<double>(choice.best()->time) : 0;
}

std::string proofText(const optimum::GraphOptimum& optimum, const topology::System& system) {
  if (optimum.best >= kAtBound * optimum.bound.bandwidth) return limitText(optimum.bound, system);
  if (optimum.best >= kAtBound * optimum.ceiling)
    return fmt::format("no more in whole channels, equally fast; {}", limitText(optimum.bound, system));
  return fmt::format("not proven to be the best: at most {:.2f}; {}", optimum.ceiling,
                     limitText(optimum.bound, system));
}

std::string table(const Optimization& result, const Terminal& screen) {
  const plan::HostPlan& host = result.plan->hostOf(0);
  const bool nets = host.system().count(topology::NodeType::kNet) > 0;
  Table table({{"graph"},
               {"searched"},
               {"GB/s", Align::kRight},
               {"best"},
               {"GB/s", Align::kRight},
               {"more", Align::kRight},
               {"bound", Align::kRight},
               {"limit"}});
  for (const Row& row : rowsOf(result.optimum)) {
    const optimum::GraphOptimum& o = row.optimum;
    const double more = o.found > 0 ? (o.best / o.found - 1) * kPercent : 0;
    table.add({{search::name(row.kind), Style::kBold},
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

plan::Json graphJson(const search::ChannelGraph& graph, const topology::System& system) {
  plan::Json channels = plan::Json::array();
  for (int c = 0; c < graph.nChannels; ++c) {
    plan::Json gpus = plan::Json::array();
    for (int i = 0; i < graph.gpuCount; ++i)
      gpus.push_back(system.gpu(system.node(topology::NodeType::kGpu, graph.gpu(c, i))).rank);
    plan::Json channel = {{"ranks", std::move(gpus)}};
    if (system.count(topology::NodeType::kNet) > 0 && graph.startNet(c) >= 0)
      channel["nets"] = {system.name(system.node(topology::NodeType::kNet, graph.startNet(c))),
                         system.name(system.node(topology::NodeType::kNet, graph.endNet(c)))};
    channels.push_back(std::move(channel));
  }
  return {{"pattern", search::name(graph.pattern)},
          {"crossNic", graph.crossNic},
          {"nChannels", graph.nChannels},
          {"bwIntra", plan::number(graph.bwIntra)},
          {"bwInter", plan::number(graph.bwInter)},
          {"typeIntra", paths::name(graph.typeIntra)},
          {"typeInter", paths::name(graph.typeInter)},
          {"channels", std::move(channels)}};
}

std::string optimumText(const Optimization& result, const Terminal& screen) {
  const plan::Plan& plan = *result.plan;
  const topology::System& system = plan.hostOf(0).system();
  std::string text =
      fmt::format("{} on {} of {}\n", screen.paint(Style::kBold, counted(plan.job().ranks(), "rank")),
                  counted(plan.job().hosts(), "host"), result.subject) +
      assumedText(result.assumptions, screen);
  if (result.optimum.ring.bound.bandwidth == 0)
    return text + "one GPU without a network: there is nothing to choose\n";
  text += screen.heading("Bandwidth of a host's channels together");
  text += table(result, screen);
  for (const auto& [kind, title] :
       {std::pair{search::GraphKind::kRing, "Ring channels"}, {search::GraphKind::kTree, "Tree channels"}})
    text += screen.heading(title) + channelsText(system, result.optimum.graphs[kind], screen);
  const Optimization::Times& allReduce = result.predicted.front();
  text += fmt::format(
      "\nAllReduce of 1 GiB, as NCCL's model predicts: {:.1f} ms, with these channels {:.1f} ms\n",
      allReduce.searched / 1000, allReduce.best / 1000);
  text += result.output.empty() ? "-o FILE writes them as a graph file, for NCCL_GRAPH_FILE\n"
                                : fmt::format("{} is for NCCL_GRAPH_FILE on every host\n", result.output);
  return text;
}

// Bandwidths in GB/s, times in microseconds.
plan::Json toJson(const Optimization& result) {
  const plan::Plan& plan = *result.plan;
  const plan::HostPlan& host = plan.hostOf(0);
  plan::Json json = {{"format", "xylem-optimum-1"},
                     {"topology", result.subject},
                     {"hosts", plan.job().hosts()},
                     {"ranks", plan.job().ranks()},
                     {"seconds", result.seconds}};
  for (const Row& row : rowsOf(result.optimum)) {
    const optimum::GraphOptimum& o = row.optimum;
    json[search::name(row.kind)] = {{"found", o.found},
                                    {"best", o.best},
                                    {"ceiling", o.ceiling},
                                    {"improved", o.improved},
                                    {"bound", boundJson(o.bound, host.system())},
                                    {"searched", graphJson(host.graphs[row.kind], host.system())},
                                    {"graph", graphJson(result.optimum.graphs[row.kind], host.system())}};
  }
  plan::Json times = plan::Json::object();
  for (const Optimization::Times& time : result.predicted)
    times[name(time.collective)] = {
        {"bytes", kLargeMessage}, {"searched", time.searched}, {"best", time.best}};
  json["predicted"] = std::move(times);
  json["graphFile"] = result.file;
  return json;
}

struct OptimizeArguments {
  JobInput job;
  int maxChannels = optimum::OptimumOptions().maxChannels;
  std::string output;
  bool json = false;
};

// The most channels that a graph file may have.
constexpr int kMaxFileChannels = 64;

constexpr const char* kOptimizeExamples = R"(Examples:
  xylem optimize l40sx8.xml -o graph.xml            one host: its best rings and trees
  NCCL_GRAPH_FILE=graph.xml xylem plan l40sx8.xml   what a job makes of them; NCCL takes the file, too
  xylem optimize dgxh100.xml --nodes 2 -o graph.xml
                                                    a job of two such hosts; every host takes this file
  xylem optimize --host dgx1v.xml@0,1,2,3,4 -o graph.xml
                                                    five of its GPUs
  xylem optimize l40sx8.xml --max-channels 4        no more channels than that
  xylem optimize l40sx8.xml --json                  for programs: graphs, bounds, what limits them

The bandwidth is that of all channels together, added up as NCCL's search adds it up. `bound` is what no channels
exceed, `ceiling` the same for whole channels that are equally fast. A graph of the search is replaced only by one that
has more, and never by one that has less (docs/optimum.md).)";

Optimization optimize(const OptimizeArguments& options, const Settings& settings) {
  JobRequest job = readJob(options.job, settings);
  plan::PlanRequest& request = job.plan;
  request.graphFile = nullptr;  // the plan to improve is the search's
  Optimization result;
  result.assumptions = std::move(job.assumptions);
  result.subject = jobName(options.job);
  {
    const Progress progress(fmt::format("optimizing {}", result.subject));
    const auto plan = std::make_shared<const plan::Plan>(plan::planJob(request, settings));
    result.plan = plan;
    if (plan->hostPlans.size() != 1)
      throw InputError(
          {result.subject, 0}, fmt::format("{} kinds of hosts", plan->hostPlans.size()),
          "hosts of one kind, whose GPUs reach each other: a graph file is for one kind; optimize each");
    const plan::HostPlan& host = plan->hostOf(0);
    const auto start = std::chrono::steady_clock::now();
    const optimum::OptimumOptions wanted{static_cast<int>(settings.integer(Setting::kCrossNic)),
                                         options.maxChannels};
    result.optimum = optimum::findOptimum(host.system(), host.paths.paths, host.graphs, wanted);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.file = search::writeGraphFile(result.optimum.graphs, host.system());
    // The plan that a job makes with the file.
    plan::PlanRequest again = request;
    again.graphFile =
        std::make_shared<const search::GraphFile>(search::parseGraphFile(result.file, "graph.xml"));
    const plan::Plan planned = plan::planJob(again, settings);
    for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather})
      result.predicted.push_back(
          {collective, predictedTime(*plan, collective), predictedTime(planned, collective)});
  }
  return result;
}

int runOptimize(const OptimizeArguments& options) {
  const Settings settings = readSettings();
  Optimization result = optimize(options, settings);
  if (!options.output.empty()) writeFile(options.output, result.file);
  result.output = options.output;
  if (options.json)
    writeJson(toJson(result));
  else
    writeOut(optimumText(result, terminalOf(stdout)));
  return kOk;
}

}  // namespace

void addOptimize(CommandLine& line) {
  const auto options = std::make_shared<OptimizeArguments>();
  Command command = line.add("optimize", "find the best rings and trees of a host, as a graph file for NCCL");
  addJobOptions(command, options->job);
  command
      .option("--max-channels", options->maxChannels,
              fmt::format("at most K channels in a graph (default {})", options->maxChannels))
      .value("K")
      .within(1, kMaxFileChannels);
  command.option("-o,--output", options->output, "write the graph file to FILE").value("FILE");
  command.flag("--json", options->json, "print JSON");
  command.footer(kOptimizeExamples);
  command.action([options] { return runOptimize(*options); });
}

}  // namespace xylem::cli
