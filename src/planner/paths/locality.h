#pragma once
// Which NIC is a GPU's own, and which GPU is a NIC's own.
//
//   Locality locality(system, paths);
//   NodeId net = locality.localNet(gpu, channel);
//
// "Near" means most bandwidth, then best path type; among several equally near, the GPU's device number and
// the channel choose. The lists are remembered: whoever changes a path must say so (forget).

#include <optional>
#include <vector>

#include "planner/paths/path_table.h"

namespace xylem {

// NCCL's limit on channels; choices per channel repeat beyond it.
constexpr int kMaxChannels = 64;

// How a GPU's NIC on a channel comes about.
struct NetPick {
  NodeId net = kNoNode;
  int near = 0;           // NICs equally near
  int dev = 0;            // the GPU's device number
  bool reversed = false;  // its bits are taken in reverse, as the number of NICs is a power of two
  int start = 0;          // what that makes
  int sharing = 0;        // GPUs equally near to the first of the NICs
  int period = 1;         // channels after which the choice repeats: NICs by GPUs, rounded up
  int turn = 0;           // the channel in that period
};

class Locality {
 public:
  Locality(const System& system, const PathTable& paths);

  // The nodes of `type` nearest to `from`, in index order.
  std::vector<NodeId> nearest(NodeId from, NodeType type) const;

  // The NIC this GPU uses on a channel; throws Error if the machine has none.
  NodeId localNet(NodeId gpu, int channel) const { return pickNet(gpu, channel).net; }
  NetPick pickNet(NodeId gpu, int channel) const;
  // All of them in channel order, each once.
  std::vector<NodeId> localNets(NodeId gpu) const;
  // The GPU whose NIC this is, or kNoNode.
  NodeId localGpu(NodeId net) const;
  // How many of its NICs a GPU needs to use up its link to the CPU; 0 below a switch.
  int localNetCountByBandwidth(NodeId gpu) const;

  // The path between the two changed, in one direction or both.
  void forget(NodeId gpu, NodeId net);

 private:
  const std::vector<NodeId>& nets(NodeId gpu) const;
  const std::vector<NodeId>& gpus(NodeId net) const;
  // GPUs equally near to the first of a GPU's NICs.
  int sharing(NodeId gpu) const;
  // After this many channels localNet repeats.
  int period(NodeId gpu) const;

  const System& system_;
  const PathTable& paths_;
  mutable std::vector<std::optional<std::vector<NodeId>>> near_;  // by node: NETs of a GPU, GPUs of a NET
};

}  // namespace xylem
