#pragma once
// One kind of host of a plan for people: its graphs, their channels, and what its rings do not use.

#include <string>

#include "cli/terminal.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

// `which` goes into the headings: "a host", "dgxh100".
std::string hostText(const Plan& plan, const HostPlan& host, const std::string& which,
                     const Terminal& screen);

// The channels of a graph, line by line: NETs and ranks.
std::string channelsText(const System& system, const ChannelGraph& graph, const Terminal& screen);

}  // namespace xylem::cli
