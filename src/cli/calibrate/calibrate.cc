#include "cli/calibrate/calibrate.h"

#include <fmt/format.h>

#include <optional>

#include "cli/calibrate/report.h"
#include "cli/command_line.h"
#include "cli/calibrate/host_bench.h"
#include "cli/machine_input.h"
#include "cli/progress.h"
#include "runtime/device/host_device.h"

namespace xylem::cli {

int runCalibration(const CalibrationOptions& options) {
  const Settings settings = readSettings();
  // What NCCL logs to standard output would spoil the JSON.
  const auto log =
      std::make_shared<const Logger>(settings, kDefaultSubsystems, options.json ? stderr : stdout);
  CalibrationReport report;
  {
    Progress progress("joining two ranks");
    HostBench bench(settings, log);
    const std::vector<HostRound> rounds = bench.measure(options.rounds, [&](int round) {
      progress.say(fmt::format("measuring: round {} of {}", round + 1, options.rounds));
    });
    report = reportOf(rounds, fitHostModel(rounds));
    report.netProblem = bench.netProblem();
  }
  report.cores = coreCount();
  writeOut(options.json ? calibrationJson(report) : calibrationText(report, terminalOf(stdout)));
  return kOk;
}

}  // namespace xylem::cli
