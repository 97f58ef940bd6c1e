#pragma once
// Virtual network devices: several ports that a job uses as one. NCCL makes them of RDMA devices when a
// communicator is set up. Dumped descriptions hold the physical devices only.
//
//   mergeNics(doc, nets, devices, {}, rules);                           // merges the ports of one card
//   mergeNics(doc, nets, devices, {.level = "PIX"}, rules);             // also those of cards below one switch
//   mergeNics(doc, nets, devices, {.force = "mlx5_0,mlx5_3"}, rules);   // these two, then the ports of one card
//
// Every device belongs to one group, alone or with up to three others. A group of one keeps its element. A larger group gets an
// element of its own where the members' paths to the CPU meet, named "mlx5_0+mlx5_1", with the sum of their speeds, and is
// numbered after the physical devices (by the rules before 2.27 groups of one are, too). By newer rules it has the PCI width of
// its members together, if these are several cards.
//
// A group that NCCL's InfiniBand transport refuses, such as an InfiniBand port and an Ethernet port, is given up; its members look
// for other groups. The first device of all does not look again: the rules before 2.27 then leave it out.

#include <span>
#include <string>
#include <vector>

#include "planner/rules/changes.h"
#include "planner/topology/detect_net.h"
#include "planner/topology/document.h"

namespace xylem::topology {

struct MergeOptions {
  std::string level = "PORT";  // NCCL_NET_MERGE_LEVEL: LOC (nothing), PORT, PIX, PXB, PXN, PHB, SYS
  std::string force;           // NCCL_NET_FORCE_MERGE: "a,b;c,d"
  bool withinRail = false;     // NCCL_NET_MERGE_POLICY=RAIL, where the rules know it
  bool mayMerge = true;        // NCCL_IB_MERGE_NICS; if false all groups of several are refused
};

// `nets` are the elements of the physical devices in the order of `dev`, and `devices` what is known about them. Returns the
// devices that a job uses, one per group. Throws InputError for an option that cannot be understood, and for a refused group
// where NCCL ends the job.
std::vector<ElementId> mergeNics(Document& document, const std::vector<ElementId>& nets,
                                 std::span<const NetDevice> devices, const MergeOptions& options,
                                 const rules::RuleSet& rules);

}  // namespace xylem::topology
