// xylem status: the operations of running ranks, which rank waits for which, and why.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/status/job.h"
#include "cli/status/text.h"
#include "cli/terminal.h"

namespace xylem::cli {
namespace {

struct StatusArguments {
  std::vector<pid_t> processes;
  std::size_t calls = 1;
  bool json = false;
};

constexpr const char* kStatusExamples = R"(Examples:
  xylem status                      every process of this user that has a communicator
  xylem status 4711 4712            these; also when they hang or are stopped
  xylem status $(pgrep train)       all ranks of a job on this host
  xylem status --calls 10           the last ten calls of each rank
  xylem status --json | jq '.communicators[].findings'

It reads the flight recorders of the processes from outside: they need not do anything, and notice nothing. Of a job on
several hosts it sees this host's ranks. Variables that help to find out more: XYLEM_CHECK=1, XYLEM_OPERATION_TIMEOUT.

Exit status: 0 nothing is stuck, 1 something hangs, differs, failed or is stopped, 2 a process cannot be looked into.)";

int runStatus(const StatusArguments& options) {
  const std::vector<SeenJob> jobs = jobsOf(seeProcesses(options.processes));
  bool good = true;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const SeenJob& job : jobs) {
    const std::vector<Finding> findings = findingsOf(job);
    good = good && findings.empty();
    if (options.json)
      list.push_back(statusJson(job, findings, options.calls));
    else
      text += (text.empty() ? "" : "\n") + statusText(job, findings, options.calls, terminalOf(stdout));
  }
  if (options.json)
    // Names of processes and hosts may be anything: replacing what is not UTF-8 keeps the output valid.
    text = nlohmann::ordered_json{{"format", "xylem-status-1"}, {"communicators", std::move(list)}}.dump(
               2, ' ', false, nlohmann::json::error_handler_t::replace) +
           '\n';
  else if (jobs.empty())
    text = "No process that can be looked into has a communicator now.\n";
  writeOut(text);
  return good ? kOk : kFailed;
}

}  // namespace

void addStatus(CommandLine& line) {
  const auto options = std::make_shared<StatusArguments>();
  Command command = line.add("status", "what the ranks of running programs do, and who waits for whom");
  command.option("PID", options->processes, "processes to look at; none: all of this user's")
      .within(1, std::numeric_limits<int>::max());
  command.option("--calls", options->calls, "how many of the last calls of each rank to show (default 1)")
      .value("N")
      .within(1, 256);
  command.flag("--json", options->json, "print JSON");
  command.footer(kStatusExamples);
  command.action([options] { return runStatus(*options); });
}

}  // namespace xylem::cli
