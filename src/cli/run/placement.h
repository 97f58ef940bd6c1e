#pragma once
// The place of each rank of `xylem run`: its host, the CPUs it may use, and the variables that tell it its
// number and where the job's ranks meet.
//
//   const auto places = placeRanks(parseRunHosts("a:2,b"), 5);      // a: 0 and 1, b: 2, 3 and 4
//   const RunMeeting meeting = meetingFor(places, 0);
//   for (const auto& [name, value] : rankVariables(places[3], 3, meeting)) setenv(...)

#include <string>
#include <utility>
#include <vector>

namespace xylem::cli {

// ---- Hosts --------------------------------------------------------------------------------------

struct RunHost {
  std::string name;
  int ranks = 0;  // 0: an equal share of the ranks that no host has a number for
};

// "a:2,b,[::1]:4". Throws InputError.
std::vector<RunHost> parseRunHosts(const std::string& text);

struct RankPlace {
  std::string host;
  int hostIndex = 0;
  int localRank = 0;
  int localRanks = 1;
};

// By rank, host after host. `ranks` 0 stands for the sum of the hosts' numbers. Throws InputError if the
// hosts take fewer ranks.
std::vector<RankPlace> placeRanks(const std::vector<RunHost>& hosts, int ranks);

// Returns whether `name` is a name of this host.
bool isThisHost(const std::string& name);

// ---- CPUs ---------------------------------------------------------------------------------------

// The CPUs that this process may use, in the order of packages and cores.
std::vector<int> usableCpus();
// One of `parts` equal parts. With fewer CPUs than parts, each part is one CPU, and parts take turns.
std::vector<int> shareOf(const std::vector<int>& cpus, int part, int parts);
// Binds the calling process. False if the system refuses.
bool bindTo(const std::vector<int>& cpus);

// ---- Variables ----------------------------------------------------------------------------------

using Variables = std::vector<std::pair<std::string, std::string>>;

// How the ranks of a job meet.
struct RunMeeting {
  int ranks = 1;
  std::string address;  // of rank 0's host, as other hosts reach it
  int masterPort = 0;
  std::string commId;  // NCCL_COMM_ID
  std::string secret;  // XYLEM_SECRET, by which the ranks of the job know each other
};

// `port` 0 stands for ports that are free here now or, if rank 0 runs elsewhere, for random ports that are
// seldom used. NCCL_COMM_ID and XYLEM_SECRET keep the values they have in the environment.
RunMeeting meetingFor(const std::vector<RankPlace>& places, int port);

// The variables of torchrun, Open MPI and MPICH, and NCCL_COMM_ID, by which NCCL programs meet without any of
// these. Not the secret. Slurm's are left out: MPI libraries would rely on srun.
Variables rankVariables(const RankPlace& place, int rank, const RunMeeting& meeting);

// True for the variables of rankVariables and XYLEM_SECRET.
bool isSetByRun(const std::string& name);

}  // namespace xylem::cli
