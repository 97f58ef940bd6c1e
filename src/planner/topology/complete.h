#pragma once
// What a person's topology file leaves out, filled in the way detection would: the step between reading a
// file and building its graph.
//
//   Document host = completeForJob(readTopology("vm.xml"));
//
// - gpu without `gdr`: 1. pci without `link_speed` or `link_width`: empty (the builder's defaults follow),
// without
//   `class`: 0x03 above a gpu, 0x02 above a nic. nvlink without `tclass`: a GPU if its target is a GPU of the
//   file, else an NVSwitch.
// - Ranks: the `rank` attributes if there are any, else document order over the gpu elements.
// - The job's part: if any element has `keep`, or some GPU has no rank while others do, the job's GPUs are
// kept (and
//   every net with a `dev`, unless the file marks nets itself) and the description is trimmed to them.

#include "planner/topology/document.h"

namespace xylem {

Document completeForJob(Document document);

// Only the attributes: the first of the points above.
Document completeAttributes(Document document);

// Every network device that does not say otherwise can compute collectives (CollNet).
void offerCollnet(Document& document);

}  // namespace xylem
