// xylem status: the operations of running ranks, which rank waits for which, and why.
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/status/findings.h"
#include "cli/status/text.h"
#include "cli/terminal.h"

namespace xylem::cli {
namespace {

using comm::SeenJob;

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

Exit status: 0 nothing is stuck, 1 something hangs, differs, failed or is stopped, 2 a process cannot be looked into,
or none of those that are named has a communicator.)";

// A communicator, and what is wrong with it.
struct JobStatus {
  SeenJob job;
  std::vector<Finding> findings;
};

std::string statusText(const std::vector<JobStatus>& all, std::size_t calls, const Terminal& screen) {
  if (all.empty()) return "No process that can be looked into has a communicator now.\n";
  std::string text;
  for (const JobStatus& one : all)
    text += (text.empty() ? "" : "\n") + statusText(one.job, one.findings, calls, screen);
  return text;
}

nlohmann::ordered_json toJson(const std::vector<JobStatus>& all, const std::vector<std::string>& leftOut,
                              std::size_t calls) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const JobStatus& one : all) list.push_back(toJson(one.job, one.findings, calls));
  return {{"format", "xylem-status-1"}, {"communicators", std::move(list)}, {"leftOut", leftOut}};
}

int runStatus(const StatusArguments& options) {
  std::vector<JobStatus> all;
  // Such as the launcher, or a rank that is still starting, in `$(pgrep train)`.
  std::vector<std::string> leftOut;
  std::vector<SeenJob> jobs = comm::jobsOf(comm::seeProcesses(options.processes, &leftOut));
  for (const std::string& why : leftOut) warn("left out: " + why);
  std::vector<std::vector<Finding>> across = findingsAcross(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // A cycle over several communicators explains the findings in each.
    std::vector<Finding> findings = std::move(across[i]);
    for (Finding& finding : findingsOf(jobs[i])) findings.push_back(std::move(finding));
    all.push_back({std::move(jobs[i]), std::move(findings)});
  }
  // Stuck communicators come first.
  std::stable_partition(all.begin(), all.end(), [](const JobStatus& one) { return !one.findings.empty(); });
  if (options.json)
    writeJson(toJson(all, leftOut, options.calls), 2);
  else
    writeOut(statusText(all, options.calls, terminalOf(stdout)));
  return std::all_of(all.begin(), all.end(), [](const JobStatus& one) { return one.findings.empty(); })
             ? kOk
             : kFailed;
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
