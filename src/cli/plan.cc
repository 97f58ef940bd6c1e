// xylem plan: what NCCL would do with a job on such hosts.
#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/machine_input.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/log.h"
#include "plan/graph_dump.h"
#include "plan/plan_json.h"
#include "plan/plan_log.h"
#include "plan/planner.h"

namespace xylem::cli {
namespace {

// The planner has its own limit on ranks; this one only keeps nonsense out.
constexpr int kMaxNodes = 1 << 24;

struct Options {
  std::string file;
  int nodes = 1;
  bool json = false;
};

constexpr const char* kExamples = R"(Examples:
  xylem plan dgxh100.xml              one host: graphs, channels, rings
  xylem plan dgxh100.xml --nodes 16   a job of 16 such hosts
  xylem plan - --nodes 2              two hosts like this machine
  xylem plan dgxh100.xml --json       everything, in the format xylem-plan-1
  NCCL_CROSS_NIC=0 xylem plan dgxh100.xml --nodes 2
                                      what a setting changes
  NCCL_GRAPH_DUMP_FILE=graphs.xml xylem plan dgxh100.xml --nodes 2
                                      its channels, for NCCL_GRAPH_FILE here and in NCCL
  NCCL_DEBUG=INFO xylem plan dgxh100.xml
                                      with the lines that NCCL would log (with --json on standard error))";

int runPlan(const Options& options) {
  const Settings settings = readSettings();
  // NCCL logs to standard output, where it would spoil the JSON.
  const Logger log(settings, kPlannerSubsystems, options.json ? stderr : stdout);
  std::vector<std::string> remarks;
  const PlanRequest request{readMachine(options.file, settings), options.nodes,
                            graphFileOf(settings, &remarks)};
  for (const std::string& remark : remarks) warn(remark);
  const Plan plan = [&] {
    const Progress progress(fmt::format("planning {}", machineName(options.file)));
    return planJob(request, settings);
  }();
  for (const LogLine& line : planLog(plan)) log.write(line);
  dumpGraphs(plan, settings);
  writeOut(options.json ? planToJson(plan) : planText(plan, machineName(options.file), terminalOf(stdout)));
  if (options.json) writeOut("\n");
  return kOk;
}

}  // namespace

void addPlan(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "plan a job: channels, rings and trees, as NCCL would");
  command->add_option("FILE", options->file, "topology XML of a host; - for this machine")
      ->type_name("")
      ->required();
  command->add_option("--nodes", options->nodes, "number of identical hosts (default 1)")
      ->type_name("N")
      ->check(integerIn(1, kMaxNodes));
  command->add_flag("--json", options->json, "print JSON");
  command->footer(kExamples);
  command->callback([&action, options] { action = [options] { return runPlan(*options); }; });
}

}  // namespace xylem::cli
