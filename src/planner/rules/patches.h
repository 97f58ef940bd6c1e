#pragma once
// Releases between the versions that have a rule set of their own, as far as they are known.
//
//   differenceFromKnown({2, 28, 3})   ->   "as 2.28.9, but NICs leave the graph of a job of one host, ..."

#include <string_view>

#include "planner/rules/version.h"

namespace xylem::rules {

// In what a release plans differently from the known version that answers for it; empty if nothing is known of it.
std::string_view differenceFromKnown(const Version& version);

}  // namespace xylem::rules
