#pragma once
// The job that a command plans or compares: its hosts, their GPUs, and the placement of its ranks.
//
//   const auto job = std::make_shared<JobInput>();
//   addJobOptions(command, *job);                     // FILE --nodes --host --ranks --fuse --nvls --collnet
//   ...
//   const JobRequest request = readJob(*job, settings);   // in the action
//   const plan::Plan plan = plan::planJob(request.plan, settings);
//   std::string text = jobName(*job) + conditionsText(plan, request.assumptions, terminalOf(stdout));

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "planner/plan/planner.h"

namespace xylem::cli {

struct JobInput {
  std::string file;                // of all hosts
  int nodes = 0;                   // hosts; 0: as many as defaultHosts() says
  std::vector<std::string> hosts;  // FILE[@GPU,GPU...][:COUNT], in place of `file` and `nodes`
  std::string ranks = "block";     // or "round-robin", or the name of a placement file
  std::string rules = "nccl";
  std::vector<std::string> links;  // bandwidths in place of NCCL's rules, as CPU-CPU=32
  std::string nccl;                // the version; empty for XYLEM_NCCL's
  bool fuse = false;
  bool nvls = false;  // neither of both: NVLS if a machine has the hardware for it
  bool noNvls = false;
  bool collnet = false;
  bool allNets = false;  // not an option: keep the NICs that the variables leave out, for the caller
};

void addJobOptions(Command& command, JobInput& job);

// The options of a job of identical hosts: no --host, and FILE is required.
void addMachineOptions(Command& command, JobInput& job);

// The value of --host.
struct HostArgument {
  std::string file;
  std::vector<int> gpus = {};
  int count = 1;
};
// Throws InputError.
HostArgument parseHost(const std::string& text);

// The options --nvls, --no-nvls and --collnet, for commands that declare their own hosts.
void addOfferOptions(Command& command, JobInput& job);

// The number of hosts of a job without the option: 2 for a file with NICs, since a job on one host uses none;
// else 1.
int defaultHosts(const std::string& file, const topology::Document& document);

// A job as asked, and what was assumed where the options leave it open: a sentence each.
struct JobRequest {
  plan::PlanRequest plan;
  std::vector<std::string> assumptions;
};

// Reads the files. Warnings about them go to standard error. Throws InputError.
JobRequest readJob(const JobInput& job, const Settings& settings);

// "assumed: 2 hosts, ...", a line for each sentence.
std::string assumedText(const std::vector<std::string>& assumptions, const Terminal& screen);

// For which version of NCCL a plan holds, what was assumed, and which variables are set: "planned as NCCL 2.25.1", "assumed: ...",
// "set: NCCL_ALGO=Ring".
std::string conditionsText(const plan::Plan& plan, const std::vector<std::string>& assumptions,
                           const Terminal& screen);

struct PlannedJob {
  plan::Plan plan;
  std::vector<std::string> assumptions;
};
// Reads and plans the job, with a progress line if that takes long. Throws InputError also if the job has no
// rank `rank`; a negative `rank` stands for all.
PlannedJob planForRank(const JobInput& job, const Settings& settings, int rank);

// Warns on standard error if the hosts of the job cannot connect to each other: one has no NIC, or some use RDMA and others
// sockets.
void warnOfHostsApart(const plan::Plan& plan);

// Warns on standard error if the job would hang under NCCL, as `xylem preflight` finds.
void warnOfHang(const plan::Plan& plan);

// The job's name for people: "dgxh100.xml", "this machine", "3 kinds of hosts".
std::string jobName(const JobInput& job);

}  // namespace xylem::cli
