#pragma once
// Virtual network devices: several ports that a job uses as one, as NCCL makes them of RDMA devices when a
// communicator is set up. Dumped descriptions hold the physical devices only.
//
//   mergeNics(doc, nets, {});                              // the ports of one card
//   mergeNics(doc, nets, {.level = "PIX"});                // and of cards below one switch
//   mergeNics(doc, nets, {.force = "mlx5_0,mlx5_3"});      // these two, then as above
//
// Every device becomes part of a group, alone or with up to three others; the groups are numbered after the
// physical devices. A group of one keeps its element. The others get one of their own where their ways to the
// CPU meet, named "mlx5_0+mlx5_1", with the sum of their speeds.

#include <span>
#include <string>
#include <vector>

#include "planner/topology/document.h"

namespace xylem {

struct MergeOptions {
  std::string level = "PORT";  // NCCL_NET_MERGE_LEVEL: LOC (nothing), PORT, PIX, PXB, PXN, PHB, SYS
  std::string force;           // NCCL_NET_FORCE_MERGE: "a,b;c,d"
};

// `nets` are the physical devices in the order of `dev`. Returns those that a job uses; the others become
// superfluous. Throws InputError for an option that cannot be understood.
std::vector<ElementId> mergeNics(Document& document, const std::vector<ElementId>& nets,
                                 const MergeOptions& options);

}  // namespace xylem
