#include "runtime/comm/join/links.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "planner/connect/collnet_nvls.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "runtime/collectives/star.h"

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

namespace {

constexpr Algorithm kStars[] = {Algorithm::kCollnetDirect, Algorithm::kNvls, Algorithm::kNvlsTree};

std::span<const int> membersOf(const connect::Connections& c, int rank) {
  return c.nodes.ranks(c.nodes.ofRank[static_cast<std::size_t>(rank)]);
}

std::vector<int> headsOf(const connect::Connections& c, Algorithm algorithm, int node) {
  return algorithm == Algorithm::kCollnetDirect ? connect::collnetHeadRanks(c, node)
                                                : connect::nvlsHeadRanks(c, node);
}

// The place of `rank` in `ranks`, or -1.
int indexIn(std::span<const int> ranks, int rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

// Whether a network that reduces joins the heads of the hosts.
bool throughNetwork(const connect::Connections& c, Algorithm algorithm) {
  return c.nodes.count() > 1 && algorithm != Algorithm::kNvlsTree;
}

bool mayUse(const tuning::TuningModel& model, Algorithm algorithm) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter})
    if (model.usable(collective, algorithm, Protocol::kSimple)) return true;
  return false;
}

bool starFits(const connect::Connections& c, Algorithm algorithm) {
  const int most =
      algorithm == Algorithm::kCollnetDirect ? connect::kMaxCollnetRanks : collectives::star::kMaxMembers;
  return c.nodes.maxLocalRanks <= most && !headsOf(c, algorithm, 0).empty();
}

}  // namespace

bool allAreHeads(const connect::Connections& c, Algorithm star) {
  const auto heads = static_cast<int>(headsOf(c, star, 0).size());
  return heads == c.nodes.minLocalRanks && heads == c.nodes.maxLocalRanks;
}

bool LinkScope::anyStar() const {
  return std::any_of(std::begin(kStars), std::end(kStars), [this](Algorithm star) { return stars[star]; });
}

LinkScope linkScope(const plan::Plan& plan, int channels, bool stars) {
  LinkScope scope;
  scope.channels = channels;
  scope.trees = false;
  const tuning::TuningModel& model = plan.tuning.front();
  for (const Protocol protocol : kAllProtocols) {
    scope.trees = scope.trees || model.usable(Collective::kAllReduce, Algorithm::kTree, protocol);
    for (const Collective c : {Collective::kAllGather, Collective::kReduceScatter})
      scope.pat = scope.pat || model.usable(c, Algorithm::kPat, protocol);
  }
  const connect::Connections& c = plan.connections;
  scope.chains =
      c.collnet && model.usable(Collective::kAllReduce, Algorithm::kCollnetChain, Protocol::kSimple);
  for (int channel = 0; channel < channels; ++channel)
    scope.chains = scope.chains && !connect::collnetChainHeads(c, channel).empty();
  scope.network = scope.chains;
  for (const Algorithm star : kStars) {
    scope.stars[star] = stars && mayUse(model, star) && starFits(c, star);
    scope.network = scope.network || (scope.stars[star] && throughNetwork(c, star));
  }
  return scope;
}

std::vector<int> NetworkGroup::beside(int rank) const {
  if (members.size() < 2) return {};
  const auto self = std::find(members.begin(), members.end(), rank);
  const auto next = self + 1 == members.end() ? members.begin() : self + 1;
  const auto before = self == members.begin() ? members.end() - 1 : self - 1;
  return next == before ? std::vector{*next} : std::vector{*before, *next};
}

std::vector<NetworkGroup> networkGroups(const plan::Plan& plan, int rank, const LinkScope& scope,
                                        int channel) {
  const connect::Connections& c = plan.connections;
  std::vector<NetworkGroup> groups;
  if (scope.chains)
    if (std::vector<int> heads = connect::collnetChainHeads(c, channel); indexIn(heads, rank) >= 0)
      groups.push_back({Algorithm::kCollnetChain, heads, connect::collnetChainDevice(c, rank, channel)});
  const int node = c.nodes.ofRank[static_cast<std::size_t>(rank)];
  for (const Algorithm star : kStars) {
    if (!scope.stars[star] || !throughNetwork(c, star)) continue;
    const int head = indexIn(headsOf(c, star, node), rank);
    if (head < 0) continue;
    const auto kind = star == Algorithm::kNvls ? search::GraphKind::kNvls : search::GraphKind::kCollnetDirect;
    NetworkGroup group{star, {}, connect::headDevice(c, rank, kind)};
    for (int other = 0; other < c.nodes.count(); ++other)
      group.members.push_back(headsOf(c, star, other)[static_cast<std::size_t>(head)]);
    groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

// The tree of NVLSTree on a channel.
connect::TreeLinks headTreeOf(const connect::Connections& c, int rank, int channel) {
  const connect::NvlsLinks links = connect::nvlsOf(c, rank);
  return links.headRank < 0 ? connect::TreeLinks{} : links.trees[static_cast<std::size_t>(channel % 2)];
}
// The first slot of `down` stands for the switch.
std::array<int, 3> treePeersOf(const connect::TreeLinks& tree) {
  return {tree.up, tree.down[1], tree.down[2]};
}

// A star's queues and the rank's place in it.
class StarMaker {
 public:
  StarMaker(const connect::Connections& c, int rank, Algorithm algorithm)
      : c_(c), rank_(rank), algorithm_(algorithm), members_(membersOf(c, rank)) {}

  std::shared_ptr<const StarLinks> make(const QueueFinder& queues, const QueueFinder& results, int channel,
                                        const NetworkEnds& network) {
    place();
    for (AlgorithmLinks* links : {&star_.contributions, &star_.results}) {
      links->from.resize(collectives::star::kFirstMember);
      links->to.resize(collectives::star::kFirstMember);
    }
    for (const int member : members_) {
      const int peer = member == rank_ ? -1 : member;
      star_.contributions.from.push_back(queues.from(peer));
      star_.contributions.to.push_back(queues.to(peer));
      star_.results.from.push_back(results.from(peer));
      star_.results.to.push_back(results.to(peer));
    }
    if (star_.head < 0) return std::make_shared<const StarLinks>(std::move(star_));
    if (throughNetwork(c_, algorithm_)) {
      addUp(network.from, network.to);
    } else if (algorithm_ == Algorithm::kNvlsTree) {
      const auto [up, first, second] = treePeersOf(headTreeOf(c_, rank_, channel));
      if (up >= 0) addUp(queues.from(up), queues.to(up));
      std::size_t slot = 1;
      for (const int child : {first, second}) {
        if (child < 0) continue;
        star_.peers |= 1u << slot;
        star_.contributions.from[slot] = queues.from(child);
        star_.results.to[slot++] = queues.to(child);
      }
    }
    return std::make_shared<const StarLinks>(std::move(star_));
  }

 private:
  void place() {
    const int node = c_.nodes.ofRank[static_cast<std::size_t>(rank_)];
    const std::vector<int> heads = headsOf(c_, algorithm_, node);
    star_.members = static_cast<int>(members_.size());
    star_.member = indexIn(members_, rank_);
    star_.head = indexIn(heads, rank_);
    for (const int head : heads) star_.headMembers.push_back(indexIn(members_, head));
    star_.grid.assign(members_.begin(), members_.end());
    // Where a network gathers and scatters, every member is a head.
    if (!throughNetwork(c_, algorithm_) || heads.size() != members_.size()) return;
    star_.hosts = c_.nodes.count();
    star_.grid.clear();
    for (int host = 0; host < star_.hosts; ++host) {
      const std::vector<int> there = headsOf(c_, algorithm_, host);
      for (const int member : members_)
        star_.grid.push_back(there[static_cast<std::size_t>(indexIn(heads, member))]);
    }
  }
  void addUp(transport::RecvEnd* from, transport::SendEnd* to) {
    star_.peers |= 1u;
    star_.results.from[0] = from;
    star_.results.to[0] = to;
  }

  const connect::Connections& c_;
  const int rank_;
  const Algorithm algorithm_;
  const std::span<const int> members_;
  StarLinks star_;
};

}  // namespace

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
    const auto joinBothWays = [&](int peer) {
      if (peer < 0 || peer == rank || peer == ranks) return;
      sendTo(peer);
      receiveFrom(peer);
    };
    if (scope.chains) {
      const connect::CollnetChain chain = connect::collnetChainOf(c, rank, channel);
      for (const int peer : {chain.up, chain.down}) joinBothWays(peer);
    }
    if (scope.anyStar())
      for (const int member : membersOf(c, rank)) joinBothWays(member);
    if (scope.stars[Algorithm::kNvlsTree])
      for (const int peer : treePeersOf(headTreeOf(c, rank, channel))) joinBothWays(peer);
    for (const NetworkGroup& group : networkGroups(plan, rank, scope, channel))
      for (const int member : group.beside(rank)) links[member];
    if (scope.pat)
      for (const int distance : distances(ranks))
        for (const int peer : {(rank + distance) % ranks, (rank + ranks - distance) % ranks}) {
          sendTo(peer);
          receiveFrom(peer);
        }
  }
  if (scope.anyStar())
    for (int channel = 0; channel < scope.channels; ++channel)
      for (const int member : membersOf(c, rank)) {
        if (member == rank) continue;
        links[member].sends.push_back(kResults + channel);
        links[member].receives.push_back(kResults + channel);
      }
  return links;
}

Links::Links(const plan::Plan& plan, int rank, const LinkScope& scope, const LinkPlan& wanted,
             const std::map<int, transport::Connection*>& connections,
             std::span<const ChannelNetwork> network) {
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
    const ChannelNetwork ends =
        network.empty() ? ChannelNetwork{} : network[static_cast<std::size_t>(channel)];
    if (scope.chains && !network.empty()) {
      const connect::CollnetChain chain = connect::collnetChainOf(c, rank, channel);
      const NetworkEnds& up = ends[Algorithm::kCollnetChain];
      const bool head = chain.up == ranks;
      links.collnetChain = {{head ? up.from : queues.from(chain.up), queues.from(chain.down)},
                            {head ? up.to : queues.to(chain.up), queues.to(chain.down)}};
      links.chainPeers = chain.down < 0 ? 1 : 3;
    }
    const QueueFinder results(wanted, connections, kResults + channel);
    for (const Algorithm star : kStars)
      if (scope.stars[star] && (!throughNetwork(c, star) || !network.empty()))
        links.stars[star] = StarMaker(c, rank, star).make(queues, results, channel, ends[star]);
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
