#pragma once
// The graph whose channels an algorithm uses.

#include "channels/channel_graph.h"
#include "core/kinds.h"

namespace xylem {

GraphKind graphOf(Algorithm algorithm);

}  // namespace xylem
