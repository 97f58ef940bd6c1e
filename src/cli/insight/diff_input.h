#pragma once
// The two sides of a comparison: a topology file, this machine, or a plan that `xylem plan --json` wrote.
//
//   DiffInput input{.a = "dgxh100.xml", .settingsB = {"NCCL_CROSS_NIC=0"}};
//   auto [a, b] = readSides(input);
//   PlanDiff diff = comparePlans(a, b);

#include <string>
#include <utility>
#include <vector>

#include "cli/job_input.h"
#include "insight/diff/facts.h"

namespace xylem::cli {

struct DiffInput {
  std::string a, b;                               // empty b: the same as a
  std::vector<std::string> settingsA, settingsB;  // NAME=VALUE, besides the environment
  std::string nodes;                              // "2", or "2,4" for A and B; empty: 1
  JobInput job;                                   // what else both sides' jobs have in common
};

// Throws InputError, also if nothing is asked that could differ.
std::pair<PlanFacts, PlanFacts> readSides(const DiffInput& input);

}  // namespace xylem::cli
