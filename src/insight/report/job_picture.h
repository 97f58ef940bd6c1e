#pragma once
// The rings and trees of a whole job, and the NICs by which rings go from node to node.

#include "insight/report/picture.h"
#include "planner/plan/plan.h"

namespace xylem {

PictureJob jobPicture(const Plan& plan);

}  // namespace xylem
