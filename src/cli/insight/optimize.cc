// xylem optimize: the best channels for a job's hosts, as a graph file.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "planner/search/graph_file.h"
#include "cli/bound_text.h"
#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/insight/optimum_text.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/settings.h"
#include "core/text_file.h"

namespace xylem::cli {
namespace {

struct OptimizeArguments {
  JobInput job;
  int maxChannels = OptimumOptions().maxChannels;
  std::string output;
  bool json = false;
};

// As many as a graph file may have.
constexpr int kMostChannels = 64;

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

PlanRequest searched(PlanRequest request) {
  request.graphFile = nullptr;
  return request;
}

Optimization optimize(const OptimizeArguments& options, const Settings& settings) {
  const PlanRequest request = searched(readJob(options.job, settings));
  Optimization result;
  result.subject = jobName(options.job);
  {
    const Progress progress(fmt::format("optimizing {}", result.subject));
    const auto plan = std::make_shared<const Plan>(planJob(request, settings));
    result.plan = plan;
    if (plan->hostPlans.size() != 1)
      throw InputError(
          {result.subject, 0}, fmt::format("{} kinds of hosts", plan->hostPlans.size()),
          "hosts of one kind, whose GPUs reach each other: a graph file is for one kind; optimize each");
    const HostPlan& host = plan->hostOf(0);
    const auto start = std::chrono::steady_clock::now();
    const OptimumOptions wanted{static_cast<int>(settings.integer(Setting::kCrossNic)), options.maxChannels};
    result.optimum = findOptimum(host.system(), host.paths.paths, host.graphs, wanted);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.file = writeGraphFile(result.optimum.graphs, host.system());
    // What a job makes of the file.
    PlanRequest again = request;
    again.graphFile = std::make_shared<const GraphFile>(parseGraphFile(result.file, "graph.xml"));
    result.planned = std::make_shared<const Plan>(planJob(again, settings));
  }
  return result;
}

int runOptimize(const OptimizeArguments& options) {
  const Settings settings = readSettings();
  Optimization result = optimize(options, settings);
  if (!options.output.empty()) writeFile(options.output, result.file);
  result.output = options.output;
  writeOut(options.json ? optimumJson(result) : optimumText(result, terminalOf(stdout)));
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
      .within(1, kMostChannels);
  command.option("-o,--output", options->output, "write the graph file to FILE").value("FILE");
  command.flag("--json", options->json, "print JSON");
  command.footer(kOptimizeExamples);
  command.action([options] { return runOptimize(*options); });
}

}  // namespace xylem::cli
