#include "runtime/comm/join/links.h"

#include <algorithm>

#include "planner/connect/collnet_nvls.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"

namespace xylem::comm {
namespace {

void addOnce(std::vector<int>& channels, int channel) {
  if (channels.empty() || channels.back() != channel) channels.push_back(channel);
}

// The distances 1, 2, 4, ... below `ranks`, at which a rank has peers in PAT.
std::vector<int> distances(int ranks) {
  std::vector<int> found;
  for (int d = 1; d < ranks; d *= 2) found.push_back(d);
  return found;
}

// Finds the queues of a channel among the connections.
class QueueFinder {
 public:
  QueueFinder(const LinkPlan& wanted, const std::map<int, transport::Connection*>& connections, int channel)
      : wanted_(wanted), connections_(connections), channel_(channel) {}

  transport::SendEnd* to(int peer) const {
    return peer < 0 ? nullptr : &connections_.at(peer)->sender(indexOf(wanted_.at(peer).sends));
  }
  transport::RecvEnd* from(int peer) const {
    return peer < 0 ? nullptr : &connections_.at(peer)->receiver(indexOf(wanted_.at(peer).receives));
  }

 private:
  int indexOf(const std::vector<int>& channels) const {
    return static_cast<int>(std::lower_bound(channels.begin(), channels.end(), channel_) - channels.begin());
  }
  const LinkPlan& wanted_;
  const std::map<int, transport::Connection*>& connections_;
  int channel_;
};

}  // namespace

LinkScope linkScope(const plan::Plan& plan, int channels) {
  LinkScope scope{channels, false, false};
  const tuning::TuningModel& model = plan.tuning.front();
  for (const Protocol protocol : kAllProtocols) {
    scope.trees = scope.trees || model.usable(Collective::kAllReduce, Algorithm::kTree, protocol);
    for (const Collective c : {Collective::kAllGather, Collective::kReduceScatter})
      scope.pat = scope.pat || model.usable(c, Algorithm::kPat, protocol);
  }
  scope.collnet = plan.connections.collnet &&
                  model.usable(Collective::kAllReduce, Algorithm::kCollnetChain, Protocol::kSimple);
  for (int channel = 0; channel < channels; ++channel)
    scope.collnet = scope.collnet && !connect::collnetChainHeads(plan.connections, channel).empty();
  return scope;
}

std::vector<int> headsBeside(const connect::Connections& c, int rank, int channel) {
  const std::vector<int> heads = connect::collnetChainHeads(c, channel);
  const auto self = std::find(heads.begin(), heads.end(), rank);
  if (self == heads.end() || heads.size() < 2) return {};
  const auto next = self + 1 == heads.end() ? heads.begin() : self + 1;
  const auto before = self == heads.begin() ? heads.end() - 1 : self - 1;
  return next == before ? std::vector{*next} : std::vector{*before, *next};
}

LinkPlan planLinks(const plan::Plan& plan, int rank, const LinkScope& scope) {
  LinkPlan links;
  const connect::Connections& c = plan.connections;
  const int ranks = c.job.ranks();
  if (ranks == 1) return links;
  for (int channel = 0; channel < scope.channels; ++channel) {
    const auto sendTo = [&](int peer) { addOnce(links[peer].sends, channel); };
    const auto receiveFrom = [&](int peer) { addOnce(links[peer].receives, channel); };
    // Around the ring data goes one way; in trees, chains and PAT both ways.
    const connect::RingNeighbours ring = connect::ringNeighbours(c, rank, channel);
    sendTo(ring.next);
    receiveFrom(ring.previous);
    if (scope.trees) {
      const connect::TreeLinks tree = connect::treeOf(c, rank, channel);
      for (const int peer : {tree.up, tree.down[0], tree.down[1], tree.down[2]}) {
        if (peer < 0) continue;
        sendTo(peer);
        receiveFrom(peer);
      }
    }
    if (scope.collnet) {
      const connect::CollnetChain chain = connect::collnetChainOf(c, rank, channel);
      for (const int peer : {chain.up, chain.down}) {
        if (peer < 0 || peer == ranks) continue;
        sendTo(peer);
        receiveFrom(peer);
      }
      for (const int head : headsBeside(c, rank, channel)) links[head];
    }
    if (scope.pat)
      for (const int distance : distances(ranks))
        for (const int peer : {(rank + distance) % ranks, (rank + ranks - distance) % ranks}) {
          sendTo(peer);
          receiveFrom(peer);
        }
  }
  return links;
}

Links::Links(const plan::Plan& plan, int rank, const LinkScope& scope, const LinkPlan& wanted,
             const std::map<int, transport::Connection*>& connections, std::span<const NetworkEnds> network) {
  const connect::Connections& c = plan.connections;
  const int ranks = c.job.ranks();
  for (int channel = 0; channel < scope.channels; ++channel) {
    const QueueFinder queues(wanted, connections, channel);
    ChannelLinks& links = channels_.emplace_back();
    links.order = connect::ringOf(c, channel);
    links.position =
        static_cast<int>(std::find(links.order.begin(), links.order.end(), rank) - links.order.begin());
    if (ranks == 1) continue;
    const connect::RingNeighbours ring = connect::ringNeighbours(c, rank, channel);
    links.ring = {{queues.from(ring.previous)}, {queues.to(ring.next)}};
    if (scope.trees) {
      const connect::TreeLinks tree = connect::treeOf(c, rank, channel);
      for (const int peer : {tree.up, tree.down[0], tree.down[1], tree.down[2]}) {
        if (peer >= 0) links.treePeers |= 1u << links.tree.from.size();
        links.tree.from.push_back(queues.from(peer));
        links.tree.to.push_back(queues.to(peer));
      }
    }
    if (!network.empty()) {
      const connect::CollnetChain chain = connect::collnetChainOf(c, rank, channel);
      const NetworkEnds& ends = network[static_cast<std::size_t>(channel)];
      const bool head = chain.up == ranks;
      links.collnetChain = {{head ? ends.from : queues.from(chain.up), queues.from(chain.down)},
                            {head ? ends.to : queues.to(chain.up), queues.to(chain.down)}};
      links.chainPeers = chain.down < 0 ? 1 : 3;
    }
    // PAT's AllGather sends to higher ranks, its ReduceScatter to lower ones.
    if (scope.pat)
      for (const int distance : distances(ranks)) {
        const int above = (rank + distance) % ranks;
        const int below = (rank + ranks - distance) % ranks;
        links.patUp.from.push_back(queues.from(below));
        links.patUp.to.push_back(queues.to(above));
        links.patDown.from.push_back(queues.from(above));
        links.patDown.to.push_back(queues.to(below));
      }
  }
}

}  // namespace xylem::comm
