#pragma once
// NetChoice chooses the transport between two ranks and, for the network, the NIC and the rank whose proxy
// uses it.
//
//   NetChoice choice(connections, reachOptions);
//   TransportKind kind = choice.transport(rank, next, Direction::kSend);   // P2P, SHM or NET
//   auto end = choice.ringEnd(rank, channel, next, Direction::kSend);   // std::nullopt: needs no NIC

#include <memory>
#include <optional>
#include <vector>

#include "planner/connect/connections.h"
#include "planner/paths/reach.h"

namespace xylem::connect {

// In the order in which NCCL asks them. The network accepts every pair that the others do not.
enum class TransportKind { kP2p, kShm, kNet };
const char* name(TransportKind kind);  // `P2P`

// The rule that chose a NIC.
enum class NetReason : std::uint8_t {
  kNone,       // the rank reaches no NIC
  kGraph,      // the channel of the graph starts or ends there
  kOwn,        // send/receive: the rank's own NIC
  kLikePeer,   // send/receive: the NIC that the peer would use on a host like this (NCCL_CROSS_NIC=0)
  kPeersGpu,   // the same NIC, by the proxy of the GPU beside it (NCCL_P2P_PXN_LEVEL=2)
  kPeersPath,  // the same NIC, if the rank's own path to it is PXN or better (NCCL_P2P_PXN_LEVEL=1)
};

// One end of a connection over the network.
struct NetEnd {
  topology::NodeId net =
      topology::kNoNode;  // in the system of the rank's view; kNoNode: the rank reaches no NIC
  int proxy = -1;         // the rank whose proxy uses the NIC
  bool gdr = false;
  NetReason reason = NetReason::kNone;
  bool gdrOverPci = false;  // GPU Direct RDMA goes over PCI although the GPU has a chip-to-chip link
};

class NetChoice {
 public:
  NetChoice(const Connections& connections, const paths::ReachOptions& options);

  // The first transport that accepts the pair for data in this direction, as seen by `rank`.
  TransportKind transport(int rank, int peer, paths::Direction direction) const;
  // Whether the receiver of a P2P connection reads the sender's memory, instead of the sender writing into the receiver's.
  bool reads(int rank, int peer) const;
  // The rank's end of the connection to a neighbour in a ring or a tree; nullopt if the connection needs no
  // NIC.
  std::optional<NetEnd> ringEnd(int rank, int channel, int peer, paths::Direction direction) const;
  std::optional<NetEnd> treeEnd(int rank, int channel, int peer, paths::Direction direction) const;
  // The end that the ring's channel names for a neighbour on another node, also where the connection does without: newer
  // rules join ranks of one host that are apart in shared memory.
  std::optional<NetEnd> ringNic(int rank, int channel, int peer, paths::Direction direction) const;
  // The rank's end for sending to `peer` by send/receive on a channel.
  NetEnd p2pEnd(int rank, int peer, int channel) const;

  // Whether a NIC reaches the memory of the rank's GPU, without another GPU between them, for data in this direction; and whether
  // data that it has written there must be flushed before the GPU may read it.
  struct DirectAccess {
    bool gdr = false;
    bool flush = false;
  };
  DirectAccess directAccess(int rank, topology::NodeId net, paths::Direction direction) const;

 private:
  struct ViewRules {
    std::unique_ptr<paths::Locality> locality;
    std::unique_ptr<paths::Reach> reach;
  };
  std::optional<NetEnd> graphEnd(search::GraphKind kind, int rank, int channel, int peer,
                                 paths::Direction direction) const;
  NetEnd nicOf(search::GraphKind kind, int rank, int channel, paths::Direction direction) const;
  const ViewRules& rules(int rank) const { return rules_[static_cast<std::size_t>(c_.job.viewOf(rank))]; }

  const Connections& c_;
  paths::ReachOptions options_;
  std::vector<ViewRules> rules_;
};

}  // namespace xylem::connect
