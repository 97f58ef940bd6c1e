#pragma once
// What a search, or a part of one, has come to, in so far as it decides whether that is better than the best
// so far.
//
//   Completed completed;
//   completed.add({channels, hops});
//   if (isBetter(wanted, best, completed)) ...

#include <cstdint>

#include "planner/search/channel_graph.h"

namespace xylem {

// The most channels completed at a time, and the fewest hops of so many. All else they have in common. If
// this is not better than some graph, none of the others that were completed is: they had fewer channels or
// more hops.
struct Completed {
  std::int32_t channels = 0;  // 0: none was completed
  std::int32_t hops = 0;

  // With hops counted from `before` on.
  Completed after(int before) const { return {channels, hops + before}; }
  void add(const Completed& other) {
    if (other.channels > channels || (other.channels == channels && other.hops < hops)) *this = other;
  }
};

// Whether the channels, built as `wanted` says, are better than the best graph so far: more bandwidth, or as
// much in fewer hops.
inline bool isBetter(const ChannelGraph& wanted, const ChannelGraph& best, const Completed& completed) {
  const int channels = completed.channels;
  if (channels == 0 || channels < wanted.minChannels) return false;
  if (wanted.pattern == Pattern::kNvls)
    return (channels > best.nChannels && channels <= wanted.gpuCount) ||
           static_cast<float>(channels) * wanted.bwInter > static_cast<float>(best.nChannels) * best.bwInter;
  const float mine = static_cast<float>(channels) * wanted.bwIntra;
  const float theirs = static_cast<float>(best.nChannels) * best.bwIntra;
  if (mine != theirs) return mine > theirs;
  return wanted.pattern == best.pattern && wanted.crossNic == best.crossNic && completed.hops < best.nHops;
}

}  // namespace xylem
