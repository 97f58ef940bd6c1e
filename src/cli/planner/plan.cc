// xylem plan: what NCCL would do with a job on such hosts.
#include <fmt/format.h>

#include <memory>

#include "cli/bound_text.h"
#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/planner/plan_text.h"
#include "cli/planner/rank_text.h"
#include "core/log.h"
#include "planner/plan/graph_dump.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/plan_log.h"

namespace xylem::cli {
namespace {

struct PlanArguments {
  JobInput job;
  bool json = false;
  bool log = false;
  int rank = -1;  // all
};

constexpr const char* kPlanExamples = R"(Examples:
  xylem plan dgxh100.xml              one host: graphs, channels, rings
  xylem plan dgxh100.xml --nodes 16   a job of 16 such hosts
  xylem plan - --nodes 2              two hosts like this machine
  xylem plan --host dgxh100.xml:2 --host dgxa100.xml@0,1,2,3
                                      two hosts of one kind and half of one of another
  xylem plan dgxh100.xml --nodes 16384 --rank 70000
                                      one rank of 131072: its neighbours, trees, NICs
  xylem plan dgxh100.xml --nodes 2 --log
                                      the lines that NCCL's rank 0 would log
  xylem plan dgxh100.xml --json       everything, in the format xylem-plan-1
  NCCL_CROSS_NIC=0 xylem plan dgxh100.xml --nodes 2
                                      what a setting changes
  NCCL_GRAPH_DUMP_FILE=graph.xml xylem plan dgxh100.xml --nodes 2
                                      the channels as NCCL's graph file, which NCCL_GRAPH_FILE reads)";

std::string output(const PlanArguments& options, const Plan& plan, int rank) {
  if (options.log) return logText(planLog(plan, rank));
  if (options.json) return withBounds(planToJson(plan, options.rank), plan) + "\n";
  const Terminal screen = terminalOf(stdout);
  if (options.rank >= 0) return rankText(plan, rank, screen);
  return planText(plan, jobName(options.job), screen);
}

int runPlan(const PlanArguments& options) {
  const Settings settings = readSettings();
  // NCCL logs to standard output, where it would spoil the JSON.
  const Logger log(settings, kPlannerSubsystems, options.json ? stderr : stdout);
  const Plan plan = planForRank(options.job, settings, options.rank);
  dumpGraphs(plan, settings);
  warnOfMissingNics(plan);
  const int rank = std::max(options.rank, 0);
  if (!options.log && log.enabled(LogLevel::kWarn, Subsystem::kAll))
    for (const LogLine& line : planLog(plan, rank)) log.write(line);
  writeOut(output(options, plan, rank));
  return kOk;
}

}  // namespace

void addPlan(CommandLine& line) {
  const auto options = std::make_shared<PlanArguments>();
  Command command = line.add("plan", "plan a job: channels, rings and trees, as NCCL would");
  addJobOptions(command, options->job);
  command.option("--rank", options->rank, "only this rank's view")
      .value("R")
      .within(0, 1 << 24);
  Option json = command.flag("--json", options->json, "print JSON");
  command.flag("--log", options->log, "print the lines that NCCL would log").excludes(json);
  command.footer(kPlanExamples);
  command.action([options] { return runPlan(*options); });
}

}  // namespace xylem::cli
