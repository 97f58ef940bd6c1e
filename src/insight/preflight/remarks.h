#pragma once
// What is worth knowing of a job with hosts of several kinds even where it hangs nothing: what the kinds have
// of their own, and what is left of it in the job.
//
//   for (const Remark& remark : remarksOn(plan)) ... remark.what, remark.byView[view], remark.job ...

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem {

enum class Remarked : std::uint8_t {
  kGpus,             // compute capabilities: LL128 off
  kCpus,             // makers or architectures: other limits of LL
  kRings,            // channels and bandwidth of the rings
  kTrees,            // of the trees
  kNvls,             // channels through NVLink multicast
  kCollnet,          // channels through a network that reduces
  kRanksPerNode,     // send and receive is then scheduled rank by rank
  kSeparateDomains,  // GPUs of a host that reach each other only over the network
};
const char* name(Remarked what);

struct Remark {
  Remarked what = Remarked::kGpus;
  std::vector<std::string> byView;  // each kind's own
  std::string job;                  // what all together get; may be empty
};

std::vector<Remark> remarksOn(const Plan& plan);

}  // namespace xylem
