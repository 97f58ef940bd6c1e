#pragma once
// What every kind of question has at hand: the plan it is about, and how to plan the same job otherwise.
//
//   tryWith(asked, answer, Setting::kNetGdrLevel, "SYS", [&](const Plan& other) { return describe(other); });
//
// The functions below answer one kind of question each.

#include <functional>
#include <string>

#include "planner/plan/planner.h"
#include "insight/why/answer.h"

namespace xylem {

struct Asked {
  const Plan& plan;
  const PlanRequest& request;
  const Settings& settings;
};

// Plans the job with one setting changed and adds to the answer what `describe` says about it. Says nothing
// for jobs that take long to plan, or if the setting has this value already.
void tryWith(const Asked& asked, Answer& answer, Setting setting, const std::string& value,
             const std::function<std::string(const Plan&)>& describe);

// "ring 4 x 20.0 GB/s, tree 4 x 20.0 GB/s, 8 channels": what most settings change.
std::string channelSummary(const Plan& plan);

Answer whyGdr(const Asked& asked, int rank, NodeId net);
Answer whyP2p(const Asked& asked, int from, int to);
Answer whyPxn(const Asked& asked, int rank, NodeId net);
// To another GPU's rank, or to a NET of the rank's host if `net` is one.
Answer whyPath(const Asked& asked, int rank, int peer, NodeId net);
Answer whyNic(const Asked& asked, int rank, int peer);  // peer -1: none in particular
Answer whyChannels(const Asked& asked, GraphKind kind);
Answer whyCount(const Asked& asked);
Answer whyAlgorithm(const Asked& asked, const std::string& collective, const std::string& size);
Answer whyRank(const Asked& asked, int rank);

}  // namespace xylem
