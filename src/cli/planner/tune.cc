// xylem tune: which algorithm and protocol NCCL would choose for which message, and how fast that should be.
#include <fmt/format.h>

#include <memory>

#include "cli/size_text.h"
#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/calibrate/calibrate.h"
#include "cli/planner/tune_json.h"
#include "cli/planner/tune_text.h"
#include "core/log.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/tuning_log.h"

namespace xylem::cli {
namespace {

struct TuneArguments {
  JobInput job;
  int rank = 0;
  bool json = false;
  std::vector<std::string> sizes;
  bool calibrate = false;
  CalibrationOptions calibration;
};

constexpr int kMostRounds = 1000;

constexpr const char* kTuneExamples = R"(Examples:
  xylem tune dgxh100.xml --nodes 2              the five collectives, 8 bytes to 8 GiB
  xylem tune dgxh100.xml --sizes 64K,1M,16M     these sizes
  NCCL_ALGO=Ring xylem tune dgxh100.xml --nodes 2
                                                what a setting changes
  NCCL_DEBUG=INFO xylem tune dgxh100.xml        with the lines that NCCL would log
  xylem tune dgxh100.xml --json                 all candidates, and why others are none
  xylem tune --calibrate                        measure this machine's cores: prints the XYLEM_HOST_MODEL by
                                                which jobs on host devices should choose
  xylem tune --calibrate --rounds 51 --json     more rounds, for busy machines; all that was measured
  XYLEM_HOST_MODEL=ll.hop=0.1,net.bw=1.2 xylem tune - --nodes 2
                                                what other constants would change on this machine

Times are what NCCL's own model predicts, which is what it chooses by; for host devices, what a model of their own
does (docs/calibration.md). Sizes count all ranks' data for AllGather and ReduceScatter, and bus bandwidth is what each
rank's link carries, both as in nccl-tests.)";

std::vector<std::uint64_t> sizesOf(const TuneArguments& options) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& size : options.sizes) sizes.push_back(parseBytes(size, "--sizes"));
  return sizes.empty() ? choiceSizes() : sizes;
}

int runTune(const TuneArguments& options) {
  const std::vector<std::uint64_t> sizes = sizesOf(options);
  const Settings settings = readSettings();
  // NCCL logs to standard output, where it would spoil the JSON.
  const Logger log(settings, kPlannerSubsystems, options.json ? stderr : stdout);
  const Plan plan = planForRank(options.job, settings, options.rank);
  const TuningModel& model = plan.tuning[static_cast<std::size_t>(plan.job().viewOf(options.rank))];
  for (const LogLine& line : tuningLines(model)) log.write(line);
  const TuneSubject subject{jobName(options.job), plan.job().hosts(), plan.settings};
  writeOut(options.json ? tuneJson(model, sizes, subject)
                        : tuneText(model, sizes, subject, terminalOf(stdout)));
  return kOk;
}

// What `xylem tune --calibrate` measures is this machine: no job.
void addCalibration(Command& command, TuneArguments& options) {
  const Option calibrate =
      command.flag("--calibrate", options.calibrate,
                   "measure this machine's cores and print the model's constants for them");
  command.excludesOthers(calibrate);
  command
      .option("--rounds", options.calibration.rounds, "how often everything is measured (default 11)")
      .value("N")
      .within(1, kMostRounds)
      .needs(calibrate);
}

}  // namespace

void addTune(CommandLine& line, Calibrate calibrate) {
  const auto options = std::make_shared<TuneArguments>();
  Command command = line.add("tune", "choose algorithm and protocol per message size, as NCCL would");
  addJobOptions(command, options->job);
  command.option("--rank", options->rank, "as this rank chooses (default 0)")
      .value("R")
      .within(0, 1 << 24);
  command.option("--sizes", options->sizes, "message sizes, such as 8,64K,1.5M (default 8 to 8G)")
      .value("SIZE,...")
      .separatedBy(',');
  if (calibrate != nullptr) addCalibration(command, *options);
  command.flag("--json", options->json, "print JSON");
  command.footer(kTuneExamples);
  command.action([options, calibrate] {
    if (!options->calibrate) return runTune(*options);
    options->calibration.json = options->json;
    return calibrate(options->calibration);
  });
}

}  // namespace xylem::cli
