#pragma once
// The NIC that a GPU uses on a channel, and the GPU that a NIC belongs to.
//
//   Locality locality(system, paths);
//   NodeId net = locality.localNet(gpu, channel);
//
// The nearest node is the one with the most bandwidth, then the best path type. Among several equally near
// NICs the GPU's device number and the channel choose. A Locality remembers its lists: call forget() after
// changing a path.

#include <optional>
#include <vector>

#include "planner/paths/path_table.h"

namespace xylem::paths {

// NCCL's limit on channels; choices per channel repeat beyond it.
constexpr int kMaxChannels = 64;

// The choice of a GPU's NIC on a channel, with the numbers that lead to it: NIC (start + turn) mod near of
// the list of nearest NICs.
struct NetPick {
  topology::NodeId net = topology::kNoNode;
  int near = 0;           // NICs equally near
  int dev = 0;            // the GPU's device number, by newer rules modulo the GPUs that share the NICs
  bool reversed = false;  // its bits are reversed, because the number of NICs is a power of two
  int start = 0;          // the device number, reversed or not
  int sharing = 0;        // GPUs equally near to the first of the NICs
  int period = 1;         // channels after which the choice repeats: NICs divided by GPUs, rounded up
  int turn = 0;           // the channel modulo the period
};

// The CPU that a GPU is closest to: by the number of links, by the rules of newer versions among those with most bandwidth.
// Throws Error if it reaches none.
topology::NodeId closestCpu(const topology::System& system, const PathTable& paths, topology::NodeId gpu);

class Locality {
 public:
  Locality(const topology::System& system, const PathTable& paths);

  // The nodes of `type` nearest to `from`, in index order.
  std::vector<topology::NodeId> nearest(topology::NodeId from, topology::NodeType type) const;

  // The NIC that the GPU uses on a channel. Throws Error if the GPU reaches none.
  topology::NodeId localNet(topology::NodeId gpu, int channel) const { return pickNet(gpu, channel).net; }
  NetPick pickNet(topology::NodeId gpu, int channel) const;
  // The NICs that the GPU uses on all channels, in channel order, each once.
  std::vector<topology::NodeId> localNets(topology::NodeId gpu) const;
  // The first GPU that uses this NIC, by channel and then in index order, or kNoNode.
  topology::NodeId localGpu(topology::NodeId net) const;
  // The nearest NICs whose bandwidth adds up to that of the GPU's link to the CPU, none below a switch; by newer rules the
  // NICs that the GPU uses channel after channel, up to the bandwidth of its path to the CPU.
  struct NetsByBandwidth {
    int count = 0;
    float bandwidth = 0;  // of all, GB/s
  };
  NetsByBandwidth netsByBandwidth(topology::NodeId gpu) const;

  // Forgets the lists of both after a path between them changed.
  void forget(topology::NodeId gpu, topology::NodeId net);

 private:
  const std::vector<topology::NodeId>& nets(topology::NodeId gpu) const;
  const std::vector<topology::NodeId>& gpus(topology::NodeId net) const;
  // The same numbers as in NetPick.
  int sharing(topology::NodeId gpu) const;
  int period(topology::NodeId gpu) const;

  const topology::System& system_;
  const PathTable& paths_;
  // By node: the nearest NETs of a GPU, the nearest GPUs of a NET.
  mutable std::vector<std::optional<std::vector<topology::NodeId>>> near_;
};

}  // namespace xylem::paths
