// main() of `xylem` and `xylem-planner`, without the subcommands that only one of them has.
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

constexpr const char* kExitStatus = R"(
Exit status: 0 done; 1 the work failed, or what compares or checks found something; 2 an argument, a file or a
variable cannot be used. `run` has its program's.
`xylem COMMAND --help` tells about each command.)";

int complain(const std::string& message, int status) {
  const std::string line =
      fmt::format("{} {}\n", terminalOf(stderr).paint(Style::kRed, "xylem:"), withoutControls(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
  return status;
}

// Fails if output was lost, on a full disk for example. A reader that closed its end early (`| head`) is no
// failure.
int finishOutput(int status) {
  if (std::fflush(stdout) != 0) noteOutputError(errno);
  const int error = outputError();
  if (error == 0 || error == EPIPE) return status;
  return complain("cannot write to standard output: " + errnoText(error), kFailed);
}

int run(CommandLine& line, const std::vector<std::string>& words) {
  try {
    const CommandLine::Parsed parsed = line.parse(words);
    if (!parsed.complaint.empty()) return complain(parsed.complaint, parsed.status);
    return parsed.action ? parsed.action() : parsed.status;
  } catch (const InputError& error) {
    return complain(error.what(), kBadInput);
  } catch (const Error& error) {
    return complain(error.what(), error.code() == ResultCode::kInvalidArgument ? kBadInput : kFailed);
  } catch (const std::exception& error) {
    return complain(errorOf(error).what(), kFailed);
  }
}

}  // namespace

CommandLine xylemCommandLine(const std::string& examples) {
  return {"Xylem plans and runs collective communication: NCCL's topology engine and API on any machine.",
          "Examples:\n" + examples + kExitStatus, "xylem " XYLEM_VERSION};
}

void addPlannerCommands(CommandLine& line, Calibrate calibrate) {
  addPlan(line);
  addTune(line, calibrate);
  addShow(line);
  addDetect(line);
  addSettings(line);
  addVersions(line);
  addZoo(line);
}

const char* const kPlannerExamples =
    R"(  xylem show                                  this machine: nodes, links, how far apart
  xylem plan dgxh100.xml --nodes 16           what NCCL would do on 16 such hosts
  xylem tune dgxh100.xml --nodes 16           algorithm, protocol and time per message size
  xylem detect -o node.xml                    this machine as topology XML
  xylem settings --set-only                   which NCCL_* variables are set, and where
  xylem zoo                                   the machines that commands take by name
)";

int runCommandLine(CommandLine& line, int argc, char** argv) {
  // A process that dies of SIGPIPE says nothing. With EPIPE it can report that the reader of its output, or
  // the peer on a job's socket, is gone.
  signal(SIGPIPE, SIG_IGN);
  return finishOutput(run(line, {argv + 1, argv + argc}));
}

}  // namespace xylem::cli
