#pragma once
// How many channels a communicator ends up with, and which channel of the search each of them copies.

#include <vector>

namespace xylem {

class Settings;

struct ChannelLimits {
  int userMax = 64;  // NCCL_MAX_NCHANNELS, NCCL_MAX_NRINGS, NCCL_WORK_ARGS_BYTES
  int userMin = 0;   // NCCL_MIN_NCHANNELS, NCCL_MIN_NRINGS
  int maxCtas = 64;
  int minCtas = 1;

  static ChannelLimits from(const Settings& settings);
};

// What the count depends on besides the limits.
struct ChannelCountInput {
  int searched = 0;  // channels that both the ring and the tree graph have, after the merge
  int nodes = 1;
  int lowestSm = 0;         // of all ranks
  float ringBandwidth = 0;  // merged, inside the host, GB/s per channel
};

// For each channel of the communicator the channel of the search it follows. Twice as many as were searched
// (the second half carries the second tree), more on fast machines, then the user's maximum and minimum, in
// that order.
std::vector<int> channelSources(const ChannelCountInput& input, const ChannelLimits& limits);

}  // namespace xylem
