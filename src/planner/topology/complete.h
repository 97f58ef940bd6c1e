#pragma once
// Fills in the attributes that people leave out of a topology file, with the values that detection would have
// given them: the step between reading a file and building its graph.
//
//   Document host = completeForJob(readTopology("vm.xml"), rules);

#include "planner/rules/changes.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// Gives missing attributes their defaults:
// - gpu: `gdr` is 1;
// - pci: `link_speed` and `link_width` are empty (the builder then assumes defaults), `class` is 0x03 above a
//   gpu and 0x02 above a nic;
// - nvlink: `tclass` is 0x03, a GPU, if the target is a GPU of the file, else 0x068000, an NVSwitch.
Document completeAttributes(Document document);

// Does the same and chooses the job's part of the machine:
// - Ranks: if no gpu has a `rank`, ranks follow document order. If some have one, these n ranks must be 0 to
//   n-1, each once; else InputError.
// - Trimming: if any element has `keep`, or some gpus have a rank and others none, it keeps the gpus with
//   a rank, and every net with a `dev` unless the file marks nets itself, and calls trimToKept.
Document completeForJob(Document document, const rules::RuleSet& rules);

// Sets coll="1" on every network device without a `coll`: it can compute collectives (CollNet).
void offerCollnet(Document& document);

}  // namespace xylem::topology
