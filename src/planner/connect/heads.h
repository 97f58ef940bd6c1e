#pragma once
// Heads: the GPUs of a host through which its CollNet or NVLS traffic leaves it, one per channel.

#include <vector>

#include "planner/connect/job.h"
#include "planner/connect/merge.h"

namespace xylem {

// The first GPUs (indices) of the first `channels` channels of a graph in order, each once.
std::vector<int> headsOf(const ChannelGraph& graph, int channels);
// Of all channels that a host has for NVLS.
std::vector<int> nvlsHeads(const RankView& view);
// Of those that all hosts have for CollNet's direct pattern.
std::vector<int> collnetHeads(const RankView& view, const ByGraphKind<MergedGraph>& merged);

}  // namespace xylem
