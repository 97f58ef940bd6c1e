#pragma once
// How many channels a communicator ends up with, and which channel of the search each of them copies.

#include <cstdint>
#include <vector>

namespace xylem {

class Settings;

struct ChannelLimits {
  int userMax = 64;  // NCCL_MAX_NCHANNELS, NCCL_MAX_NRINGS, NCCL_WORK_ARGS_BYTES
  int userMin = 0;   // NCCL_MIN_NCHANNELS, NCCL_MIN_NRINGS
  int maxCtas = 64;
  int minCtas = 1;
  int argumentMax = 64;  // NCCL_WORK_ARGS_BYTES

  static ChannelLimits from(const Settings& settings);
};

// What the count depends on besides the limits.
struct ChannelCountInput {
  int searched = 0;  // channels that both the ring and the tree graph have, after the merge
  int nodes = 1;
  int lowestSm = 0;            // of all ranks
  float ringBandwidth = 0;     // merged, inside the host, GB/s per channel
  bool collnetFaster = false;  // CollNet chains have more bandwidth inside the hosts than between them
  int nvlsChannels = 0;        // as many channels at least, for NVLS
};

// The rules that change the count, in NCCL's order.
enum class CountRule : std::uint8_t {
  kSearched,  // what the ring and the tree graph of all hosts have
  kTwoTrees,  // twice as many: the second half carries the second tree
  kCollnet,   // half as many more, as CollNet chains are faster inside the hosts
  kFastGpus,  // twice as many, as each ring of fast GPUs has much bandwidth
  kMost,      // NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS
  kLeast,     // NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS
  kNvls,      // as many as NVLS uses
};
constexpr int kCountRules = 7;

struct CountStep {
  CountRule rule = CountRule::kSearched;
  bool applies = false;  // its condition holds; it may still change nothing
  int before = 0, after = 0;
};

// From this bandwidth per ring (GB/s) and compute capability on, below this many channels, they double.
constexpr float kDoubleFrom = 45.0f;
constexpr int kDoubleFromSm = 90;
constexpr int kDoubleBelow = 16;

struct ChannelCounts {
  // By channel: the channel it copies. Those below `searched` follow the channel of the search with that
  // number, the next `searched` the same ones with the second tree.
  std::vector<int> source;
  std::vector<CountStep> steps;
  int collective = 0;  // channels of collectives; NVLS and send/receive may use more

  int total() const { return static_cast<int>(source.size()); }
};

// Twice as many as were searched (the second half carries the second tree), more on fast machines, then the
// user's maximum and minimum, in that order.
ChannelCounts countChannels(const ChannelCountInput& input, const ChannelLimits& limits);

}  // namespace xylem
