#pragma once
// Draws the machine of one view of a job, with the bandwidth that channels take of each link.

#include "insight/report/picture.h"
#include "planner/plan/plan.h"

namespace xylem::report {

// `rank`: the first rank of the view.
HostPicture hostPicture(const plan::Plan& plan, int rank, const PictureOptions& options);

}  // namespace xylem::report
