#pragma once
// The machine of one view of a job, with what its channels take of which link.

#include "insight/report/picture.h"
#include "planner/plan/plan.h"

namespace xylem {

// `rank`: the first of its view.
HostPicture hostPicture(const Plan& plan, int rank, const PictureOptions& options);

// Every pair of GPUs, and GPUs and NETs, with the rules that decide how they reach each other. On the same
// machine.
ReachMatrix reachMatrix(const Plan& plan, int rank, const HostPicture& picture);

}  // namespace xylem
