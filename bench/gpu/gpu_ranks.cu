// Ranks on GPUs, through NVIDIA's runtime and the library that is found as libnccl.so.2: Xylem or NCCL. tools/gpu_check compiles
// and runs it.
//
//   gpu_ranks check RANKS [processes|hosts] # results of collectives, sends and receives, of graphs, of several streams and of a part of
//                                           # the ranks, against exact sums
//   gpu_ranks together RANKS                # results of ranks that one thread launches for
//   gpu_ranks losses RANKS [processes]      # the last rank does not come: time-outs (XYLEM_OPERATION_TIMEOUT), and aborts
//   gpu_ranks results RANKS [host]          # hashes of the results of all types and operations, for comparison with host devices
//   gpu_ranks profile RANKS                 # what the tests' profiler plugin is told of calls (profile.h)
//   gpu_ranks steps RANKS hosts             # the same for steps over a network
//   gpu_ranks measure RANKS [processes]     # times, beside what the GPU can do in the same run
//
// Several ranks on one GPU need NCCL_MULTI_RANK_GPU_ENABLE=1. `hosts`: processes that take themselves for hosts of their own.

#include <set>
#include <string>

#include "profile.h"
#include "results.h"
#include "speed.h"
#include "team.h"

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  const int ranks = count > 2 ? std::atoi(words[2]) : 0;
  const std::string how = count > 3 ? words[3] : "";
  const std::set<std::string> modes{"check", "together", "losses", "results", "profile", "steps", "measure"};
  if (ranks < 1 || ranks > kMostRanks || modes.count(mode) == 0) {
    std::fprintf(stderr,
                 "usage: gpu_ranks check|together|losses|results|profile|steps|measure RANKS "
                 "[processes|hosts|host]\n");
    return 2;
  }
  if (mode == "results" && how == "host") {
    printHostResults(ranks);
    return 0;
  }
  if (mode == "together") {
    checkOneThread(ranks);
    std::printf("%d ranks of one thread: done\n", ranks);
    return 0;
  }
  Team team(ranks, how == "processes" ? Team::As::kProcesses
                   : how == "hosts"   ? Team::As::kHosts
                                      : Team::As::kThreads);
  if (mode == "losses") {
    team.run([](Rank& rank) { checkLostRank(rank, false); });
    team.run([](Rank& rank) { checkLostRank(rank, true); });
  } else {
    team.run(mode == "check"     ? check
             : mode == "results" ? printGpuResults
             : mode == "profile" ? checkProfile
             : mode == "steps"   ? checkSteps
                                 : measure);
  }
  if (mode != "results")
    std::printf("%d ranks%s: %s done\n", ranks, how.empty() ? "" : (" as " + how).c_str(), mode.c_str());
  return 0;
}
