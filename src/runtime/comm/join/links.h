#pragma once
// The queues that collectives use: on every channel those to the neighbours in its ring and its tree; if the
// plan may choose PAT, those to the ranks at distances of powers of two; if it may choose CollNet's chain, those of
// the chain through the host; if it may choose a star (runtime/collectives/star.h), those among the ranks of the host, and to
// the same heads of other hosts. The members of a network that reduces also get a connection without queues to the
// members before and after them: they watch each other (runtime/transport/collnet/coll_connection.h).
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

// A queue between two ranks is known by its channel. Results of stars have queues of their own, with kResults added.
constexpr int kResults = 1 << 16;
constexpr int channelOf(int queue) { return queue % kResults; }

// The queues on which this rank sends to a peer and receives from it, ascending. Both ends number the
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
  bool chains = false;  // to a network that reduces
  // Stars, and those of them whose heads a network or a tree joins.
  ByAlgorithm<bool> stars{};
  bool network = false;  // any of these needs a network that reduces

  bool anyStar() const;
};
// The queues that the plan's choices of algorithms can need. `stars`: whether there may be any. Mailboxes are the star of the ranks of an
// only host, and GPUs have none.
LinkScope linkScope(const plan::Plan& plan, int channels, bool stars = true);
LinkPlan planLinks(const plan::Plan& plan, int rank, const LinkScope& scope);

// Whether every rank of the job is a head of the star.
bool allAreHeads(const connect::Connections& connections, Algorithm star);

// The ranks that a network that reduces joins for an algorithm, on one channel: one of each host, in the order of hosts.
struct NetworkGroup {
  Algorithm algorithm = Algorithm::kCollnetChain;
  std::vector<int> members;
  int device = 0;  // the `dev` of this rank's network device

  // The members before and after the rank, which may be one.
  std::vector<int> beside(int rank) const;
};
// The groups to which a rank belongs, in an order that is the same on all ranks.
std::vector<NetworkGroup> networkGroups(const plan::Plan& plan, int rank, const LinkScope& scope,
                                        int channel);

// The queues of a channel to and from a network that reduces; null if the rank does not belong to the algorithm's group.
struct NetworkEnds {
  transport::RecvEnd* from = nullptr;
  transport::SendEnd* to = nullptr;
};
using ChannelNetwork = ByAlgorithm<NetworkEnds>;

// The queues of one algorithm on one channel, in the order of runtime/collectives/algorithm.h; null where
// there is no peer.
struct AlgorithmLinks {
  std::vector<transport::RecvEnd*> from;
  std::vector<transport::SendEnd*> to;
};

// A rank's place and queues in a star, as in a Shape (runtime/collectives/algorithm.h).
struct StarLinks {
  std::uint32_t peers = 0;  // bit 0 up, 1 to 3 children
  int members = 1, member = 0, head = -1, hosts = 1;
  std::vector<int> headMembers, grid;
  AlgorithmLinks contributions, results;
};

struct ChannelLinks {
  int position = 0;        // in the ring
  std::vector<int> order;  // ranks by position
  AlgorithmLinks ring, tree, collnetChain, patUp, patDown;
  ByAlgorithm<std::shared_ptr<const StarLinks>> stars;  // null where the scope has none
  std::uint32_t treePeers = 0;                          // bit 0 up, 1 to 3 down
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
        const std::map<int, transport::Connection*>& connections,
        std::span<const ChannelNetwork> network = {});

  std::span<const ChannelLinks> channels() const { return channels_; }

 private:
  std::vector<ChannelLinks> channels_;
};

}  // namespace xylem::comm
