#include "planner/connect/net_choice.h"

namespace xylem::connect {

NetChoice::NetChoice(const Connections& connections, const paths::ReachOptions& options)
    : c_(connections), options_(options) {
  for (const RankView& view : c_.job.views) {
    ViewRules rules;
    rules.locality = std::make_unique<paths::Locality>(*view.system, *view.paths);
    rules.reach = std::make_unique<paths::Reach>(*view.system, *view.paths, *rules.locality, options_);
    rules_.push_back(std::move(rules));
  }
}

const char* name(TransportKind kind) {
  return kind == TransportKind::kP2p ? "P2P" : kind == TransportKind::kShm ? "SHM" : "NET";
}

TransportKind NetChoice::transport(int rank, int peer, paths::Direction direction) const {
  const topology::NodeId mine = c_.job.gpuOf(rank);
  const topology::NodeId other = c_.job.gpuSeenBy(rank, peer);
  if (other == topology::kNoNode) {
    // A rank of this host outside of its graph is no reason against shared memory, by newer rules.
    const bool share = c_.rules().unknownPeerMayShare && c_.job.hostOf(rank) == c_.job.hostOf(peer);
    return share && !options_.shmDisable ? TransportKind::kShm : TransportKind::kNet;
  }
  const paths::Reach& reach = *rules(rank).reach;
  const topology::NodeId from = direction == paths::Direction::kSend ? mine : other;
  const topology::NodeId to = direction == paths::Direction::kSend ? other : mine;
  if (reach.transportP2p(from, to).yes) return TransportKind::kP2p;
  return reach.transportShm(from, to).yes ? TransportKind::kShm : TransportKind::kNet;
}

bool NetChoice::reads(int rank, int peer) const {
  const topology::NodeId other = c_.job.gpuSeenBy(rank, peer);
  return other != topology::kNoNode && rules(rank).reach->p2pRead(c_.job.gpuOf(rank), other);
}

std::optional<NetEnd> NetChoice::ringEnd(int rank, int channel, int peer, paths::Direction direction) const {
  return graphEnd(search::GraphKind::kRing, rank, channel, peer, direction);
}

std::optional<NetEnd> NetChoice::treeEnd(int rank, int channel, int peer, paths::Direction direction) const {
  return graphEnd(search::GraphKind::kTree, rank, channel, peer, direction);
}

std::optional<NetEnd> NetChoice::graphEnd(search::GraphKind kind, int rank, int channel, int peer,
                                          paths::Direction direction) const {
  // Ranks of one node need no NIC, unless a graph file joins GPUs that are each nearer to a NIC than to each
  // other; such a connection is left out here.
  const std::vector<int>& node = c_.nodes.ofRank;
  if (node[static_cast<std::size_t>(rank)] == node[static_cast<std::size_t>(peer)]) return std::nullopt;
  if (transport(rank, peer, direction) != TransportKind::kNet) return std::nullopt;
  return nicOf(kind, rank, channel, direction);
}

std::optional<NetEnd> NetChoice::ringNic(int rank, int channel, int peer, paths::Direction direction) const {
  if (c_.job.gpuSeenBy(rank, peer) != topology::kNoNode) return ringEnd(rank, channel, peer, direction);
  return nicOf(search::GraphKind::kRing, rank, channel, direction);
}

NetEnd NetChoice::nicOf(search::GraphKind kind, int rank, int channel, paths::Direction direction) const {
  const RankView& view = c_.job.view(rank);
  const search::ChannelGraph& graph = (*view.graphs)[kind];
  const int searched = channel % c_.searched;
  const topology::NodeId gpu = c_.job.gpuOf(rank);
  const int index = !view.system->usesNets()                               ? -1
                    : graph.gpu(searched, 0) == view.system->position(gpu) ? graph.startNet(searched)
                                                                           : graph.endNet(searched);
  if (index < 0) return {};
  const paths::Reach& reach = *rules(rank).reach;
  const topology::NodeId net = view.system->node(topology::NodeType::kNet, index);
  const topology::NodeId proxy = reach.proxyGpu(gpu, net);
  const paths::Decision gdr = reach.gdr(gpu, net, direction);
  return {net, c_.job.rankOfGpu(c_.job.hostOf(rank), view, view.system->position(proxy)), gdr.yes,
          NetReason::kGraph, reach.gdrOverPci(gdr)};
}

NetChoice::DirectAccess NetChoice::directAccess(int rank, topology::NodeId net,
                                                paths::Direction direction) const {
  const topology::NodeId gpu = c_.job.gpuOf(rank);
  const paths::Reach& reach = *rules(rank).reach;
  const paths::Decision gdr = reach.gdr(gpu, net, direction);
  return {gdr.yes && gdr.relay == topology::kNoNode, reach.flush(gpu, net).yes};
}

// Prefers the NIC that the peer would use on a host like this one, if it is near enough: then data arrives at
// the NIC that is the peer's own. Otherwise the rank uses its own NIC.
NetEnd NetChoice::p2pEnd(int rank, int peer, int channel) const {
  const RankView& view = c_.job.view(rank);
  const topology::System& system = *view.system;
  if (system.count(topology::NodeType::kNet) == 0) return {};
  const ViewRules& rules = this->rules(rank);
  const topology::NodeId gpu = c_.job.gpuOf(rank);
  const topology::NodeId peerGpu = c_.job.gpuOf(peer);
  const int peerDev = c_.job.view(peer).system->gpu(peerGpu).dev;
  const auto rankOf = [&](topology::NodeId node) {
    return c_.job.rankOfGpu(c_.job.hostOf(rank), view, system.position(node));
  };
  NetEnd end{rules.locality->localNet(gpu, channel), rank, false, NetReason::kOwn};
  const auto finish = [&] {
    end.gdr = rules.reach->gdr(gpu, end.net, paths::Direction::kSend).yes;
    return end;
  };
  if (c_.options.crossNic != 0 && c_.options.pxnLevel == 0) return finish();
  // The GPU with the peer's number on the own host; by older rules on the first one of the graph.
  const auto near = [&](topology::NodeId other) {
    return !system.rules().nicOfOwnHostsGpu || system[other].key.system() == system[gpu].key.system();
  };
  topology::NodeId like = topology::kNoNode;
  for (topology::NodeId other : system.nodes(topology::NodeType::kGpu))
    if (system.gpu(other).dev == peerDev && near(other) && like == topology::kNoNode) like = other;
  if (like == topology::kNoNode) return finish();
  const topology::NodeId wanted = rules.locality->localNet(like, channel);
  if (c_.options.crossNic == 0) {
    end.net = wanted;
    end.reason = NetReason::kLikePeer;
  }
  if (c_.options.pxnLevel == 1 && view.paths->path(gpu, wanted).type <= paths::PathType::kPxn) {
    end = {wanted, rankOf(rules.reach->proxyGpu(gpu, wanted)), false, NetReason::kPeersPath};
  } else if (c_.options.pxnLevel == 2) {
    const topology::NodeId relay = rules.locality->localGpu(wanted);
    if (relay != topology::kNoNode && view.paths->path(relay, gpu).type <= paths::PathType::kNvl &&
        view.paths->path(relay, wanted).type <= rules.reach->farthestRelayNet() &&
        (!system.rules().pxnNeedsGdr || rules.reach->gdr(relay, wanted, paths::Direction::kReceive).yes))
      end = {wanted, rankOf(relay), false, NetReason::kPeersGpu};
  }
  return finish();
}

}  // namespace xylem::connect
