#pragma once
// The job that a command plans or compares: its hosts, their GPUs, and the placement of its ranks.
//
//   const auto job = std::make_shared<JobInput>();
//   addJobOptions(command, *job);                     // FILE --nodes --host --ranks --fuse --nvls --collnet
//   ...
//   PlanRequest request = readJob(*job, settings);    // in the action
//   std::string name = jobName(*job);

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "planner/plan/planner.h"

namespace xylem::cli {

struct JobInput {
  std::string file;                // of all hosts
  int nodes = 1;                   // hosts
  std::vector<std::string> hosts;  // FILE[@GPU,GPU...][:COUNT], in place of `file` and `nodes`
  std::string ranks = "block";     // or "round-robin", or the name of a placement file
  std::string rules = "nccl-2.25";
  std::string nccl;  // the version; empty for XYLEM_NCCL's
  bool fuse = false;
  bool nvls = false;
  bool collnet = false;
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

// Reads the files. Warnings about them go to standard error. Throws InputError.
plan::PlanRequest readJob(const JobInput& job, const Settings& settings);

// Reads and plans the job, with a progress line if that takes long. Throws InputError also if the job has no
// rank `rank`; a negative `rank` stands for all.
plan::Plan planForRank(const JobInput& job, const Settings& settings, int rank);

// Warns on standard error if the job has several hosts and one of them has no NIC.
void warnOfMissingNics(const plan::Plan& plan);

// The job's name for people: "dgxh100.xml", "this machine", "3 kinds of hosts".
std::string jobName(const JobInput& job);

}  // namespace xylem::cli
