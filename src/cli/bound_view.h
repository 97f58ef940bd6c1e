#pragma once
// The bandwidth of a plan's rings and trees beside the most that any channels could have, as text and as
// JSON.
//
//   for (const PlanBound& bound : boundsOf(plan, host)) text += boundLine(bound, host, screen);

#include <string>

#include "cli/terminal.h"
#include "insight/optimum/channel_use.h"
#include "insight/optimum/optimum.h"
#include "planner/plan/json_value.h"
#include "planner/plan/plan.h"

namespace xylem::cli {

// "rings" or "trees".
const char* plural(search::GraphKind kind);
// "rings have 15.0 GB/s together, 94% of the bound 16.0: ..."
std::string boundLine(const optimum::PlanBound& bound, const plan::HostPlan& host, const Terminal& screen);
// The reason for the bound: the links of the cut, or the links that are full in the best solution.
std::string limitText(const optimum::Bound& bound, const topology::System& system);

plan::Json boundJson(const optimum::Bound& bound, const topology::System& system);
// The bounds of a host's graphs and how close the graphs come to them, by kind of graph.
plan::Json boundsJson(const std::vector<optimum::PlanBound>& bounds, const topology::System& system);

// A paragraph for predictions that ignore the job's number of channels: how much the channels in use can carry
// at most. Empty if the prediction holds for them.
std::string channelUseText(const optimum::ChannelUse& use);

}  // namespace xylem::cli
