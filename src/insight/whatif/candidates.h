#pragma once
// Single changes that might make a plan better: what a repair tries.
//
//   for (const Candidate& c : repairCandidates(host, settings, offered)) ... c.edit ...
//
// Curated, not exhaustive: variables with sensible values; a card, or all of them, with GPU Direct RDMA, with
// a port of their own, on wider or faster links, or beside the GPUs; NVLinks that are fewer than elsewhere.

#include <string>
#include <vector>

#include "core/settings.h"
#include "planner/plan/planner.h"
#include "planner/topology/document.h"

namespace xylem {

struct RepairCandidate {
  std::string edit;  // parseEdit() understands it
  std::string what;  // "net3 beside gpu3"
  std::string todo;  // how that is done on the real machine
  int devices = 0;   // it touches; 0: a variable
};

// `host` has ranks (completeForJob).
std::vector<RepairCandidate> repairCandidates(const Document& host, const Settings& settings,
                                              const GraphOptions& offered);

}  // namespace xylem
