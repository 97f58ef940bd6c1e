#pragma once
// The job a command is about: hosts, their GPUs, and where the ranks are.
//
//   const auto job = std::make_shared<JobInput>();
//   addJobOptions(command, *job);                     // FILE --nodes --host --ranks --fuse --nvls --collnet
//   ...
//   PlanRequest request = readJob(*job, settings);     // in the action
//   std::string name = jobName(*job);

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "planner/plan/planner.h"

namespace xylem::cli {

struct JobInput {
  std::string file;  // of all hosts
  int nodes = 1;
  std::vector<std::string> hosts;  // FILE[@GPU,GPU…][:COUNT], in place of `file`
  std::string ranks = "block";     // or round-robin, or a file
  std::string rules = "nccl-2.25";
  bool fuse = false;
  bool nvls = false;
  bool collnet = false;
};

void addJobOptions(Command& command, JobInput& job);

// Those of a job of identical hosts: without --host, and FILE must be given.
void addMachineOptions(Command& command, JobInput& job);

// A host as --host names it.
struct HostArgument {
  std::string file;
  std::vector<int> gpus = {};
  int count = 1;
};
// Throws InputError.
HostArgument parseHost(const std::string& text);

// Reads the files; what is odd about them goes to standard error. Throws InputError.
PlanRequest readJob(const JobInput& job, const Settings& settings);

// Reads and plans the job, with a progress line where that takes long. Throws InputError too if it does not
// have the rank asked for (negative: none).
Plan planForRank(const JobInput& job, const Settings& settings, int rank);

// Says on standard error if there are several hosts and some have nothing to leave them by.
void warnOfMissingNics(const Plan& plan);

// What to call it: "dgxh100.xml", "this machine", "3 kinds of hosts".
std::string jobName(const JobInput& job);

}  // namespace xylem::cli
