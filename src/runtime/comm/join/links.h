#pragma once
// The queues that collectives use: on every channel those to the neighbours in its ring and its tree; if the
// plan may choose PAT, those to the ranks at distances of powers of two; if it may choose CollNet, those of
// the chain through the host. Heads of chains also get a connection without queues to the heads before and
// after them: they watch each other (runtime/transport/collnet/coll_connection.h).
//
//   const LinkPlan wanted = planLinks(plan, rank, linkScope(plan, channels));  // which queues to which peers
//   const Links links(plan, rank, scope, wanted, connections);                  // once they are connected
//   links.channels()[0].ring.from[0]->peek(...)
//
// If a ring and a tree have the same neighbour on a channel, they share the queue: operations run one after
// the other.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/kinds.h"
#include "planner/plan/plan.h"
#include "runtime/comm/join/transports.h"

namespace xylem::comm {

// The channels on which this rank sends to a peer and receives from it, ascending. Both ends number the
// queues between them in this order.
struct PeerChannels {
  std::vector<int> sends;
  std::vector<int> receives;
};

// The queues that a rank's collectives need, by peer.
using LinkPlan = std::map<int, PeerChannels>;

struct LinkScope {
  int channels = 1;  // how many of the plan's channels collectives use
  bool trees = true;
  bool pat = false;
  bool collnet = false;  // chains to a network that reduces
};
// The queues that the plan's choices of algorithms can need.
LinkScope linkScope(const plan::Plan& plan, int channels);
LinkPlan planLinks(const plan::Plan& plan, int rank, const LinkScope& scope);
// For a head of a chain, the heads before and after it, which may be one rank; empty for other ranks.
std::vector<int> headsBeside(const connect::Connections& connections, int rank, int channel);

// The queues of a channel to and from a network that reduces; null if this rank is no head of the channel.
struct NetworkEnds {
  transport::RecvEnd* from = nullptr;
  transport::SendEnd* to = nullptr;
};

// The queues of one algorithm on one channel, in the order of runtime/collectives/algorithm.h; null where
// there is no peer.
struct AlgorithmLinks {
  std::vector<transport::RecvEnd*> from;
  std::vector<transport::SendEnd*> to;
};

struct ChannelLinks {
  int position = 0;        // in the ring
  std::vector<int> order;  // ranks by position
  AlgorithmLinks ring, tree, collnetChain, patUp, patDown;
  std::uint32_t treePeers = 0;   // bit 0 up, 1 to 3 down
  std::uint32_t chainPeers = 0;  // the same bits for a chain: at the head, up is the network

  const AlgorithmLinks& of(Collective collective, Algorithm algorithm) const {
    if (algorithm == Algorithm::kTree) return tree;
    if (algorithm == Algorithm::kCollnetChain) return collnetChain;
    if (algorithm != Algorithm::kPat) return ring;
    return collective == Collective::kAllGather ? patUp : patDown;
  }
};

class Links {
 public:
  Links() = default;
  // `connections`: by peer, each with the queues that `wanted` says. `network`: by channel; empty without
  // CollNet.
  Links(const plan::Plan& plan, int rank, const LinkScope& scope, const LinkPlan& wanted,
        const std::map<int, transport::Connection*>& connections, std::span<const NetworkEnds> network = {});

  std::span<const ChannelLinks> channels() const { return channels_; }

 private:
  std::vector<ChannelLinks> channels_;
};

}  // namespace xylem::comm
