#pragma once
// Counts a communicator's channels and says which channel of the search each of them copies.
//
//   ChannelCounts counts = countChannels({.searched = 2, .lowestSm = 80}, ChannelLimits::from(settings));
//   counts.source   ->   {0, 1, 2, 3}: channels 0 and 1 with the first tree, 2 and 3 with the second

#include <cstdint>
#include <vector>

namespace xylem {
class Settings;
}
namespace xylem::connect {

struct ChannelLimits {
  int userMax = 64;  // NCCL_MAX_NCHANNELS, NCCL_MAX_NRINGS, NCCL_WORK_ARGS_BYTES
  int userMin = 0;   // NCCL_MIN_NCHANNELS, NCCL_MIN_NRINGS
  int maxCtas = 64;
  int minCtas = 1;
  int argumentMax = 64;  // channels that fit in a kernel's arguments (NCCL_WORK_ARGS_BYTES)

  static ChannelLimits from(const Settings& settings);
};

// The input of the count besides the limits.
struct ChannelCountInput {
  int searched = 0;  // channels that both the ring and the tree graph have, after the merge
  int nodes = 1;
  int lowestSm = 0;            // of all ranks
  float ringBandwidth = 0;     // merged, inside the host, GB/s per channel
  bool collnetFaster = false;  // CollNet chains have more bandwidth inside the hosts than between them
  int nvlsChannels = 0;        // NVLS needs at least this many channels
};

// The rules that change the count, in NCCL's order.
enum class CountRule : std::uint8_t {
  kSearched,  // the channels that the ring and the tree graphs of all hosts have
  kTwoTrees,  // doubles them: the second half carries the second tree
  kCollnet,   // adds half as many if CollNet chains are faster inside the hosts
  kFastGpus,  // doubles them if each ring of fast GPUs has much bandwidth
  kMost,      // the maximum: NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS
  kLeast,     // the minimum: NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS
  kNvls,      // at least as many as NVLS uses
};

struct CountStep {
  CountRule rule = CountRule::kSearched;
  bool applies = false;  // the rule's condition holds; the rule may still change nothing
  int before = 0, after = 0;
};

// The condition of kFastGpus: more than this bandwidth per ring (GB/s), at least this compute capability, and
// fewer channels than this.
constexpr float kDoubleFrom = 45.0f;
constexpr int kDoubleFromSm = 90;
constexpr int kDoubleBelow = 16;

struct ChannelCounts {
  // By channel: the channel that it copies. A source s below `searched` is channel s of the search with the
  // first tree, any other one is channel s - searched with the second tree.
  std::vector<int> source;
  std::vector<CountStep> steps;
  int collective = 0;  // channels of collectives; NVLS and send/receive may use more

  int total() const { return static_cast<int>(source.size()); }
};

// Applies the rules in their order.
ChannelCounts countChannels(const ChannelCountInput& input, const ChannelLimits& limits);

}  // namespace xylem::connect
