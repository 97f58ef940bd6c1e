#pragma once
// Which way data takes between two ranks, and over the network which NIC and which rank's proxy.
//
//   NetChoice choice(connections, reachOptions);
//   TransportKind way = choice.transport(rank, next, Direction::kSend);                    // P2P, SHM or NET
//   std::optional<NetEnd> end = choice.ringEnd(rank, channel, next, Direction::kSend);   // empty: no NIC
//   needed

#include <memory>
#include <optional>
#include <vector>

#include "planner/connect/connections.h"
#include "planner/paths/reach.h"

namespace xylem {

// In the order in which NCCL asks them; the network takes whatever the others do not.
enum class TransportKind { kP2p, kShm, kNet };
const char* name(TransportKind kind);  // `P2P`

// The rule that chose a NIC.
enum class NetReason : std::uint8_t {
  kNone,       // no NIC within reach
  kGraph,      // the channel of the graph starts or ends there
  kOwn,        // send/receive: the rank's own NIC
  kLikePeer,   // send/receive: the NIC that the peer would use on a host like this (NCCL_CROSS_NIC=0)
  kPeersGpu,   // the same, by the proxy of the GPU beside that NIC (NCCL_P2P_PXN_LEVEL=2)
  kPeersPath,  // the same, near enough over the rank's own path (NCCL_P2P_PXN_LEVEL=1)
};

struct NetEnd {
  NodeId net = kNoNode;  // in the system of the rank's view; kNoNode: the rank reaches no NIC
  int proxy = -1;        // rank
  bool gdr = false;
  NetReason reason = NetReason::kNone;
};

class NetChoice {
 public:
  NetChoice(const Connections& connections, const ReachOptions& options);

  // The first that accepts the pair, with data going in this direction as `rank` sees it.
  TransportKind transport(int rank, int peer, Direction direction) const;
  // For a neighbour in a ring on another node.
  std::optional<NetEnd> ringEnd(int rank, int channel, int peer, Direction direction) const;
  // The same in a tree.
  std::optional<NetEnd> treeEnd(int rank, int channel, int peer, Direction direction) const;
  // For sending to `peer` on a channel outside of any ring or tree.
  NetEnd p2pEnd(int rank, int peer, int channel) const;

 private:
  struct ViewRules {
    std::unique_ptr<Locality> locality;
    std::unique_ptr<Reach> reach;
  };
  std::optional<NetEnd> graphEnd(GraphKind kind, int rank, int channel, int peer, Direction direction) const;
  const ViewRules& rules(int rank) const { return rules_[static_cast<std::size_t>(c_.job.viewOf(rank))]; }

  const Connections& c_;
  ReachOptions options_;
  std::vector<ViewRules> rules_;
};

}  // namespace xylem
