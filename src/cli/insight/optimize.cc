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
#include "insight/optimum/choose_channels.h"
#include "insight/optimum/optimum.h"
#include "planner/plan/plan_json.h"

namespace xylem::cli {
namespace {

struct Optimization {
  std::string subject;                     // "dgxh100.xml"
  std::shared_ptr<const plan::Plan> plan;  // with the channels that the search found
  optimum::ChosenChannels chosen;
  // The times, in microseconds, that NCCL's model predicts for a large message.
  struct Times {
    Collective collective;
    double searched, best;
  };
  std::vector<Times> predicted;
  double seconds = 0;                // that finding them took
  std::vector<std::string> outputs;  // the names of the graph files by part; empty if they were not written
  std::vector<std::string> assumptions;
};

constexpr double kPercent = 100;
// More ranges of ranks are left out.
constexpr std::size_t kMaxRankRanges = 8;
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

std::string proofText(const optimum::GraphOptimum& optimum, const topology::System& system) {
  if (optimum.best >= kAtBound * optimum.bound.bandwidth) return limitText(optimum.bound, system);
  if (optimum.best >= kAtBound * optimum.ceiling)
    return fmt::format("no more in whole channels, equally fast; {}", limitText(optimum.bound, system));
  return fmt::format("not proven to be the best: at most {:.2f}; {}", optimum.ceiling,
                     limitText(optimum.bound, system));
}

std::string table(const plan::HostPlan& host, const optimum::Optimum& optimum, const Terminal& screen) {
  const bool nets = host.system().usesNets();
  Table table({{"graph"},
               {"searched"},
               {"GB/s", Align::kRight},
               {"best"},
               {"GB/s", Align::kRight},
               {"more", Align::kRight},
               {"bound", Align::kRight},
               {"limit"}});
  for (const Row& row : rowsOf(optimum)) {
    const optimum::GraphOptimum& o = row.optimum;
    const double more = o.found > 0 ? (o.best / o.found - 1) * kPercent : 0;
    table.add({{search::name(row.kind), Style::kBold},
               {channelsOf(host.graphs[row.kind], nets)},
               {fmt::format("{:.2f}", o.found)},
               {channelsOf(optimum.graphs[row.kind], nets)},
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
    if (system.usesNets() && graph.startNet(c) >= 0)
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

// The judgement of NCCL's model on all functions and sizes.
std::string judgementText(const optimum::ChosenChannels& chosen, const Terminal& screen) {
  if (!chosen.wins()) {
    const std::string keep = screen.paint(Style::kBold, "The search's channels are the ones to keep");
    if (chosen.tried == 0) return fmt::format("\n{}: no others with more bandwidth were found.\n", keep);
    return fmt::format(
        "\n{}: by NCCL's model, over all functions and sizes from 8 B to 8 GiB,\n"
        "{} of {} of channels with more bandwidth would make something slower{}.\n",
        keep, chosen.losing, counted(chosen.tried, "set"),
        chosen.losing < chosen.tried ? ", and the rest nothing faster" : "");
  }
  Table table({{"function"}, {"size"}, {"time, best by searched"}});
  const auto addAll = [&](const std::vector<optimum::JudgedRange>& ranges, Style style) {
    for (const optimum::JudgedRange& range : ranges) {
      const std::string least = fmt::format("{:.3f}", range.leastRatio);
      const std::string greatest = fmt::format("{:.3f}", range.greatestRatio);
      table.add({{name(range.collective)},
                 {range.first == range.last ? sizeText(range.first)
                                            : sizeText(range.first) + " to " + sizeText(range.last)},
                 {least == greatest ? least : least + " to " + greatest, style}});
    }
  };
  const std::vector<optimum::JudgedRange> slower = optimum::slowerRanges(chosen.judgement);
  addAll(optimum::fasterRanges(chosen.judgement), Style::kGreen);
  addAll(slower, Style::kRed);
  return screen.heading(fmt::format(
             "What changes by NCCL's model, 8 B to 8 GiB: {:.3f} times faster in the mean, {}",
             chosen.judgement.gain, slower.empty() ? "nothing is slower" : "some functions are slower")) +
         table.text(screen, 2);
}

// The channels of the job's only kind of host, or of one of several kinds or parts.
std::string partText(const plan::HostPlan& host, const optimum::Optimum& optimum, const std::string& what,
                     const Terminal& screen) {
  if (optimum.ring.bound.bandwidth == 0)
    return fmt::format("{}: one GPU without a network, so there is nothing to choose\n", what);
  std::string text = screen.heading(fmt::format("Bandwidth of the channels of {} together", what)) +
                     table(host, optimum, screen);
  for (const auto& [kind, title] :
       {std::pair{search::GraphKind::kRing, "Ring channels"}, {search::GraphKind::kTree, "Tree channels"}})
    text += screen.heading(title) + channelsText(host.system(), optimum.graphs[kind], screen);
  return text;
}

std::string filesText(const Optimization& result) {
  const std::size_t parts = result.chosen.parts.size();
  if (result.outputs.empty())
    return parts == 1 ? "-o FILE writes them as a graph file, for NCCL_GRAPH_FILE\n"
                      : "-o FILE writes them as graph files, for NCCL_GRAPH_FILE of each part's ranks\n";
  if (parts == 1) return fmt::format("{} is for NCCL_GRAPH_FILE on every host\n", result.outputs.front());
  const std::vector<HostKind> kinds = hostKinds(*result.plan);
  std::string text;
  for (std::size_t i = 0; i < parts; ++i)
    text += fmt::format("{} is for NCCL_GRAPH_FILE of the ranks {}\n", result.outputs[i],
                        listText(kinds[i].ranks, kMaxRankRanges));
  return text;
}

std::string optimumText(const Optimization& result, const Terminal& screen) {
  const plan::Plan& plan = *result.plan;
  std::string text =
      fmt::format("{} on {} of {}\n", screen.paint(Style::kBold, counted(plan.job().ranks(), "rank")),
                  counted(plan.job().hosts(), "host"), result.subject) +
      conditionsText(plan, result.assumptions, screen);
  const std::vector<HostKind> kinds = hostKinds(plan);
  const std::size_t parts = result.chosen.parts.size();
  for (std::size_t i = 0; i < parts; ++i)
    text += partText(*plan.hostPlans[i], result.chosen.parts[i].optimum,
                     parts == 1 ? "a host" : kinds[i].name, screen);
  text += judgementText(result.chosen, screen);
  if (!result.chosen.wins()) return text;
  const Optimization::Times& allReduce = result.predicted.front();
  text += fmt::format(
      "\nAllReduce of 1 GiB, as NCCL's model predicts: {:.1f} ms, with these channels {:.1f} ms\n",
      allReduce.searched / 1000, allReduce.best / 1000);
  return text + filesText(result);
}

plan::Json rangesJson(const std::vector<optimum::JudgedRange>& ranges) {
  plan::Json json = plan::Json::array();
  for (const optimum::JudgedRange& range : ranges)
    json.push_back({{"collective", name(range.collective)},
                    {"firstBytes", range.first},
                    {"lastBytes", range.last},
                    {"leastRatio", range.leastRatio},
                    {"greatestRatio", range.greatestRatio}});
  return json;
}

plan::Json partJson(const plan::HostPlan& host, const optimum::ChosenChannels::Part& part) {
  plan::Json json = plan::Json::object();
  for (const Row& row : rowsOf(part.optimum)) {
    const optimum::GraphOptimum& o = row.optimum;
    json[search::name(row.kind)] = {{"found", o.found},
                                    {"best", o.best},
                                    {"ceiling", o.ceiling},
                                    {"improved", o.improved},
                                    {"bound", boundJson(o.bound, host.system())},
                                    {"searched", graphJson(host.graphs[row.kind], host.system())},
                                    {"graph", graphJson(part.optimum.graphs[row.kind], host.system())}};
  }
  json["graphFile"] = part.file;
  return json;
}

// Bandwidths in GB/s, times in microseconds.
plan::Json toJson(const Optimization& result) {
  const plan::Plan& plan = *result.plan;
  const optimum::ChosenChannels& chosen = result.chosen;
  plan::Json json = {{"format", "xylem-optimum-1"},
                     {"topology", result.subject},
                     {"hosts", plan.job().hosts()},
                     {"ranks", plan.job().ranks()},
                     {"nccl", rules::versionText(plan.nccl->version)},
                     {"settings", plan::settingsJson(plan)},
                     {"assumed", result.assumptions},
                     {"seconds", result.seconds}};
  json.update(partJson(*plan.hostPlans.front(), chosen.parts.front()));
  // Several kinds of hosts, or parts of a host: those after the first.
  for (std::size_t i = 1; i < chosen.parts.size(); ++i)
    json["otherParts"].push_back(partJson(*plan.hostPlans[i], chosen.parts[i]));
  plan::Json times = plan::Json::object();
  for (const Optimization::Times& time : result.predicted)
    times[name(time.collective)] = {
        {"bytes", kLargeMessage}, {"searched", time.searched}, {"best", time.best}};
  json["predicted"] = std::move(times);
  json["wins"] = chosen.wins();
  json["judged"] = {{"sets", chosen.tried},
                    {"losing", chosen.losing},
                    {"gain", chosen.judgement.gain},
                    {"faster", rangesJson(optimum::fasterRanges(chosen.judgement))},
                    {"slower", rangesJson(optimum::slowerRanges(chosen.judgement))}};
  return json;
}

struct OptimizeArguments {
  JobInput job;
  int maxChannels = optimum::OptimumOptions().maxChannels;
  std::vector<std::string> weights;  // FUNCTION=WEIGHT
  std::string output;
  bool json = false;
};

// The most channels that a graph file may have.
constexpr int kMaxFileChannels = 64;

constexpr const char* kOptimizeExamples = R"(Examples:
  xylem optimize l40sx8-pcie.xml -o graph.xml       one host: its best rings and trees
  NCCL_GRAPH_FILE=graph.xml xylem plan l40sx8-pcie.xml
                                                    what a job makes of them; NCCL takes the file, too
  xylem optimize dgxh100.xml --nodes 2 -o graph.xml
                                                    a job of two such hosts; every host takes this file
  xylem optimize --host dgx1v.xml@0,1,2,3,4 -o graph.xml
                                                    five of its GPUs
  xylem optimize --host dgxh100.xml:2 --host hgxh200-4nic.xml -o graph.xml
                                                    two kinds of hosts, with a file for the ranks of each
  xylem optimize l40sx8-pcie.xml --max-channels 4   no more channels than that
  xylem optimize l40sx8-pcie.xml --json             for programs: graphs, bounds, what limits them

  xylem optimize l40sx8-pcie.xml --weight AllReduce=10,Broadcast=0
                                                    what counts: Broadcast may become slower here

The bandwidth is that of all channels together, added up as NCCL's search adds it up. `bound` is what no channels
exceed, `ceiling` the same for whole channels that are equally fast. Channels replace the search's only if NCCL's model
says that some function becomes faster and none slower, from 8 B to 8 GiB; those with weight 0 may (docs/optimum.md).

Exit status: 0 done, 1 no channels win, so that -o writes nothing, 2 an argument, a file or a variable cannot be used.)";

// Hosts of several files that say the same are hosts of one kind.
void joinEqualHosts(plan::PlanRequest& request) {
  for (std::size_t i = 1; i < request.hosts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (topology::writeTopology(*request.hosts[i].topology) ==
          topology::writeTopology(*request.hosts[j].topology))
        request.hosts[i].topology = request.hosts[j].topology;
}

// Says in the file what becomes slower with it.
std::string withLosses(std::string file, const optimum::Judgement& judgement) {
  std::string remark;
  for (const optimum::JudgedRange& range : optimum::slowerRanges(judgement))
    remark += fmt::format("  <!-- slower by NCCL's model: {} from {} to {} bytes, up to {:.2f} times -->\n",
                          name(range.collective), range.first, range.last, range.greatestRatio);
  return file.insert(file.find('\n') + 1, remark);
}

Optimization optimize(const OptimizeArguments& options, const Settings& settings) {
  JobRequest job = readJob(options.job, settings);
  plan::PlanRequest& request = job.plan;
  request.graphFile = nullptr;  // the plan to improve is the search's
  joinEqualHosts(request);
  Optimization result;
  result.assumptions = std::move(job.assumptions);
  result.subject = jobName(options.job);
  {
    const Progress progress(fmt::format("optimizing {}", result.subject));
    const auto plan = std::make_shared<const plan::Plan>(plan::planJob(request, settings));
    result.plan = plan;
    warnOfHang(*plan);
    const auto start = std::chrono::steady_clock::now();
    const optimum::OptimumOptions wanted{static_cast<int>(settings.integer(Setting::kCrossNic)),
                                         options.maxChannels};
    result.chosen = optimum::chooseChannels(request, settings, *plan, wanted,
                                            optimum::parseWeights(options.weights, "--weight"));
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (result.chosen.wins())
      for (optimum::ChosenChannels::Part& part : result.chosen.parts)
        part.file = withLosses(std::move(part.file), result.chosen.judgement);
    for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather})
      for (const optimum::JudgedTime& time : result.chosen.judgement.times)
        if (time.collective == collective && time.bytes == kLargeMessage)
          result.predicted.push_back({collective, time.before, time.after});
  }
  return result;
}

// "graph.xml", or "graph.1.xml" and so on for several parts.
std::string outputOf(const std::string& name, std::size_t part, std::size_t parts) {
  if (parts == 1) return name;
  const std::size_t dot = name.rfind('.');
  const std::size_t slash = name.rfind('/');
  const bool hasSuffix = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  const std::size_t at = hasSuffix ? dot : name.size();
  return fmt::format("{}.{}{}", name.substr(0, at), part + 1, name.substr(at));
}

int runOptimize(const OptimizeArguments& options) {
  const Settings settings = readSettings();
  Optimization result = optimize(options, settings);
  const bool wins = result.chosen.wins();
  if (wins && !options.output.empty()) {
    const std::vector<optimum::ChosenChannels::Part>& parts = result.chosen.parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      result.outputs.push_back(outputOf(options.output, i, parts.size()));
      writeFile(result.outputs.back(), parts[i].file);
    }
  }
  if (options.json)
    writeJson(toJson(result));
  else
    writeOut(optimumText(result, terminalOf(stdout)));
  if (!wins && !options.output.empty())
    warn(fmt::format("{} is not written: no channels win", options.output));
  return wins || options.output.empty() ? kOk : kFailed;
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
  command
      .option("--weight", options->weights,
              "how much functions count, by default 1 each; those with 0 may become slower")
      .value("FUNCTION=W,...")
      .separatedBy(',');
  command.option("-o,--output", options->output, "write the graph file to FILE, if it wins").value("FILE");
  command.flag("--json", options->json, "print JSON");
  command.footer(kOptimizeExamples);
  command.action([options] { return runOptimize(*options); });
}

}  // namespace xylem::cli
