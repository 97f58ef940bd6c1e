// xylem tune: which algorithm and protocol NCCL would choose for which message, and how fast that should be.
#include <fmt/format.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/tune_calibrate.h"
#include "cli/tune_json.h"
#include "cli/tune_text.h"
#include "core/log.h"
#include "tuning/choice.h"
#include "tuning/tuning_log.h"

namespace xylem::cli {
namespace {

struct Options {
  JobInput job;
  int rank = 0;
  bool json = false;
  std::vector<std::string> sizes;
  bool calibrate = false;
  CalibrationOptions calibration;
};

constexpr int kMostRounds = 1000;

constexpr const char* kExamples = R"(Examples:
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

std::vector<std::uint64_t> sizesOf(const Options& options) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& size : options.sizes) sizes.push_back(parseBytes(size, "--sizes"));
  return sizes.empty() ? choiceSizes() : sizes;
}

int runTune(const Options& options) {
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

}  // namespace

void addTune(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("tune", "choose algorithm and protocol per message size, as NCCL would");
  addJobOptions(*command, options->job);
  command->add_option("--rank", options->rank, "as this rank chooses (default 0)")
      ->type_name("R")
      ->check(integerIn(0, 1 << 24));
  command->add_option("--sizes", options->sizes, "message sizes, such as 8,64K,1.5M (default 8 to 8G)")
      ->type_name("SIZE,...")
      ->delimiter(',');
  CLI::Option* calibrate =
      command->add_flag("--calibrate", options->calibrate,
                        "measure this machine's cores and print the model's constants for them");
  for (CLI::Option* option : command->get_options())
    if (option != calibrate && option != command->get_help_ptr()) calibrate->excludes(option);
  command
      ->add_option("--rounds", options->calibration.rounds, "how often everything is measured (default 11)")
      ->type_name("N")
      ->check(integerIn(1, kMostRounds))
      ->needs(calibrate);
  command->add_flag("--json", options->json, "print JSON");
  command->footer(kExamples);
  command->callback([&action, options] {
    options->calibration.json = options->json;
    action = [options] {
      return options->calibrate ? runCalibration(options->calibration) : runTune(*options);
    };
  });
}

}  // namespace xylem::cli
