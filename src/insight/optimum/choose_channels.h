#pragma once
// Chooses channels for the hosts of a job that make it faster by NCCL's own model, and nothing slower.
//
//   const ChosenChannels chosen = chooseChannels(request, settings, searched, {.maxChannels = 16}, {});
//   if (chosen.wins()) writeFile("graph.xml", chosen.parts.front().file);
//
// Bandwidth alone is no judge: NCCL's model lets Broadcast and Reduce pay for rings whose order differs from
// channel to channel, and LL128 depends on the types of paths. So every set of channels that has more
// bandwidth (findCandidates) is planned as a job would with its graph file, and judged over all functions and
// sizes (judge.h). The set with the greatest gain and without any loss is chosen. One whose NICs are farther
// away than GPU Direct RDMA reaches, where those of the search are not, is left out: the model does not know
// what that costs.
//
// GPUs of a host that only reach each other over the network are parts with channels of their own, and with a
// graph file of their own for their ranks. So are the kinds of hosts of a mixed job.

#include <string>
#include <vector>

#include "insight/optimum/judge.h"
#include "insight/optimum/optimum.h"
#include "planner/plan/planner.h"

namespace xylem::optimum {

struct ChosenChannels {
  struct Part {
    Optimum optimum;   // the search's graphs, unless they were improved
    std::string file;  // the graph file; empty if nothing wins
  };
  std::vector<Part> parts;  // by view of the job: by kind of host, and by domain of its GPUs
  Judgement judgement;      // against the search's graphs
  int tried = 0;            // sets of channels that were judged
  int losing = 0;           // of these, the ones that make something slower

  bool wins() const { return !parts.empty() && !parts.front().file.empty(); }
};

// `searched` is the plan of `request`, which names no graph file.
ChosenChannels chooseChannels(const plan::PlanRequest& request, const Settings& settings,
                              const plan::Plan& searched, const OptimumOptions& options,
                              const Weights& weights);

}  // namespace xylem::optimum
