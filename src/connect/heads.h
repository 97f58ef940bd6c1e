#pragma once
// Heads: the GPUs of a host through which its CollNet or NVLS traffic leaves it, one per channel.

#include <vector>

#include "connect/job.h"

namespace xylem {

// The first GPUs (indices) of a graph's channels in order, each once.
std::vector<int> headsOf(const RankView& view, GraphKind kind);

}  // namespace xylem
