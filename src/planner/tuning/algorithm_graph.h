#pragma once
// The graph whose channels an algorithm uses.

#include "planner/search/channel_graph.h"
#include "core/kinds.h"

namespace xylem {

GraphKind graphOf(Algorithm algorithm);

}  // namespace xylem
