// xylem preflight: would the ranks of this job decide alike, or wait for each other for ever?
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/insight/preflight_json.h"
#include "cli/insight/preflight_text.h"
#include "cli/progress.h"

namespace xylem::cli {
namespace {

struct PreflightArguments {
  JobInput job;
  bool json = false;
};

constexpr const char* kPreflightExamples = R"(Examples:
  xylem preflight --host dgxh100.xml:2 --host dgxa100.xml
                                      two hosts of one kind and one of another in one job
  NCCL_ALGO=^Tree xylem preflight --host dgxh100.xml:2 --host dgxa100.xml
                                      the same under a setting
  xylem preflight --host a.xml@0,1,2,3 --host b.xml --json
                                      everything, in the format xylem-preflight-1

Exit status: 0 all ranks decide alike, 1 they do not or cannot connect, 2 an argument, a file or a
variable cannot be used.)";

int runPreflight(const PreflightArguments& options) {
  const Settings settings = readSettings();
  const PlanRequest request = readJob(options.job, settings);
  std::optional<Progress> progress(fmt::format("planning {}", jobName(options.job)));
  const Plan plan = planJob(request, settings);
  Preflight result = preflight(plan);
  if (result.disagrees()) result.remedies = findRemedies(request, settings, plan);
  progress.reset();
  writeOut(options.json ? preflightJson(plan, result) : preflightText(plan, result, terminalOf(stdout)));
  return result.isFine() ? kOk : kFailed;
}

}  // namespace

void addPreflight(CommandLine& line) {
  const auto options = std::make_shared<PreflightArguments>();
  Command command = line.add(
      "preflight", "would the ranks of a job of different hosts agree, or hang; and what avoids it");
  addJobOptions(command, options->job);
  command.flag("--json", options->json, "print JSON");
  command.footer(kPreflightExamples);
  command.action([options] { return runPreflight(*options); });
}

}  // namespace xylem::cli
