#include "insight/optimum/channel_use.h"

#include <algorithm>
#include <set>

#include "insight/optimum/optimum.h"

namespace xylem::optimum {

ChannelUse channelUseOf(const plan::Plan& plan, int rank) {
  const connect::Connections& c = plan.connections;
  const connect::ChannelCounts& counts = c.of(rank).channels;
  const plan::HostPlan& host = plan.hostOf(rank);
  const search::ChannelGraph& ring = host.ring();
  ChannelUse use;
  use.channels = counts.collective;
  use.searched = ring.nChannels;
  std::set<int> copied;
  for (int channel = 0; channel < std::min(counts.collective, counts.total()); ++channel)
    copied.insert(c.source(rank, channel).searched);
  use.used = static_cast<int>(copied.size());
  const bool network = c.nodes.count() > 1;
  use.bandwidth = use.used * static_cast<double>(network ? ring.bwInter : ring.bwIntra);
  // The cut alone, which is fast on any machine.
  use.bound = boundOf(host.system(), host.paths.paths, ring.pattern, c.options.crossNic, false).bandwidth;
  // Host devices have a model of their own.
  if (host.system().gpu(host.system().node(topology::NodeType::kGpu, 0)).hostDevice) return use;
  for (const connect::CountStep& step : counts.steps)
    if (step.rule == connect::CountRule::kMost || step.rule == connect::CountRule::kLeast)
      use.limited = use.limited || step.before != step.after;
  return use;
}

}  // namespace xylem::optimum
