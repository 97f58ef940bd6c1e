#pragma once
// Differences between the hosts of a job that make nothing hang but cost performance: what each kind of host
// has alone, and what all of them get together in the job.
//
//   for (const Remark& remark : remarksOn(plan)) ... remark.what, remark.byView[view], remark.job ...

#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace xylem::preflight {

enum class Remarked : std::uint8_t {
  kGpus,             // compute capabilities: LL128 is off
  kCpus,             // makers or architectures: other limits of LL
  kNics,             // number, speed or network of the NICs
  kNicNames,         // names of the NICs
  kRings,            // channels and bandwidth of the rings
  kRingPaths,        // types of their paths between GPUs, and to NICs
  kRingNics,         // how many NICs they use, and how many channels share one
  kNicOfChannel,     // by which NIC each ring leaves the host, and by which it comes back
  kTrees,            // channels and bandwidth of the trees
  kTreePaths,        // types of their paths
  kNvls,             // channels through NVLink multicast
  kCollnet,          // channels through a network that reduces
  kRanksPerNode,     // if they differ, send and receive is scheduled rank by rank
  kSeparateDomains,  // GPUs of a host that have no better way to each other than the network
};
const char* name(Remarked what);

struct Remark {
  Remarked what = Remarked::kGpus;
  std::vector<std::string> byView;  // the value of each kind of host, as text
  std::string job;                  // what all hosts get together; may be empty
  bool apart = false;  // kNics: some are of InfiniBand and others of Ethernet, which do not connect
};

// "mlx5_0-3, eth0": in the order of the NICs' numbers; names that count on are one entry.
std::string nicNames(const topology::System& system);

std::vector<Remark> remarksOn(const plan::Plan& plan);

}  // namespace xylem::preflight
