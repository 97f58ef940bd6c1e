#pragma once
// The rings and trees of a whole job, and the NICs by which rings go from node to node.

#include "draw/picture.h"
#include "plan/plan.h"

namespace xylem {

PictureJob jobPicture(const Plan& plan);

}  // namespace xylem
