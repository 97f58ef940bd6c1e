#pragma once
// How many of the search's channels a job uses. NCCL's model predicts times by all channels that the search
// found, whatever NCCL_MAX_NCHANNELS and NCCL_MIN_NCHANNELS make of their number: with fewer channels a job
// is slower than predicted, with more of them no faster.
//
//   const ChannelUse use = channelUseOf(plan, 0);
//   use.isIgnored()          ->   true: the prediction does not know the number of channels
//   use.used, use.searched   ->   2, 16
//   use.bandwidth            ->   46.4 GB/s, of the 2 channels together

#include "planner/plan/plan.h"

namespace xylem::optimum {

struct ChannelUse {
  int channels = 0;      // of the job's collectives
  int searched = 0;      // ring channels of the search, by which NCCL's model predicts
  int used = 0;          // of these, the ones that the job's channels copy
  double bandwidth = 0;  // GB/s, of the used ones together: to the network in jobs of several nodes
  double bound = 0;      // GB/s that the links allow all rings together; 0 if nothing limits them
  bool limited = false;  // a variable changed the number of channels

  bool isIgnored() const { return limited; }
};

// As the rank sees it.
ChannelUse channelUseOf(const plan::Plan& plan, int rank);

}  // namespace xylem::optimum
