#pragma once
// The variables by which the ranks of `xylem run` learn who they are and where they meet: those of torchrun,
// Open MPI and MPICH, and those that let NCCL programs meet without any of them. Slurm's are left out: MPI
// libraries take them for a promise that srun is there.
//
//   for (const auto& [name, value] : rankVariables(place, rank, meeting)) setenv(...)

#include <string>
#include <utility>
#include <vector>

#include "cli/run/hosts.h"

namespace xylem::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct RunMeeting {
  int ranks = 1;
  std::string address;  // of rank 0's host, as other hosts reach it
  int masterPort = 0;
  std::string commId;  // NCCL_COMM_ID
  std::string secret;  // XYLEM_SECRET, which shows who belongs to the job
};

// `port` 0: ports that are free here now, or, if rank 0 runs elsewhere, some that are seldom used. What the
// environment says already about NCCL_COMM_ID and XYLEM_SECRET stays.
RunMeeting meetingFor(const std::vector<RankPlace>& places, int port);

// All but the secret.
// Whether ranks get this variable from rankVariables, or the secret.
bool isSetByRun(const std::string& name);
Variables rankVariables(const RankPlace& place, int rank, const RunMeeting& meeting);

// This host, by any of its names.
bool isThisHost(const std::string& name);

}  // namespace xylem::cli
