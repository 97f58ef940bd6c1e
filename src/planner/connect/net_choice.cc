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
  if (other == topology::kNoNode) return TransportKind::kNet;
  const paths::Reach& reach = *rules(rank).reach;
  const topology::NodeId from = direction == paths::Direction::kSend ? mine : other;
  const topology::NodeId to = direction == paths::Direction::kSend ? other : mine;
  if (reach.transportP2p(from, to).yes) return TransportKind::kP2p;
  return reach.transportShm(from, to).yes ? TransportKind::kShm : TransportKind::kNet;
}

std::optional<NetEnd> NetChoice::ringEnd(int rank, int channel, int peer, paths::Direction direction) const {
  return graphEnd(search::GraphKind::kRing, rank, channel, peer, direction);
}

std::optional<NetEnd> NetChoice::treeEnd(int rank, int channel, int peer, paths::Direction direction) const {
  return graphEnd(search::GraphKind::kTree, rank, channel, peer, direction);
}

std::optional<NetEnd> NetChoice::graphEnd(search::GraphKind kind, int rank, int channel, int peer,
                                          paths::Direction direction) const {
  // Ranks of one node need a NIC, too, if a graph file joins GPUs that P2P and SHM refuse.
  if (rank == peer || transport(rank, peer, direction) != TransportKind::kNet) return std::nullopt;
  const RankView& view = c_.job.view(rank);
  const search::ChannelGraph& graph = (*view.graphs)[kind];
  const int searched = channel % c_.searched;
  const topology::NodeId gpu = c_.job.gpuOf(rank);
  const int index = view.system->count(topology::NodeType::kNet) == 0      ? -1
                    : graph.gpu(searched, 0) == view.system->position(gpu) ? graph.startNet(searched)
                                                                           : graph.endNet(searched);
  if (index < 0) return NetEnd{};
  const paths::Reach& reach = *rules(rank).reach;
  const topology::NodeId net = view.system->node(topology::NodeType::kNet, index);
  const topology::NodeId proxy = reach.proxyGpu(gpu, net);
  return NetEnd{net, c_.job.rankOfGpu(c_.job.hostOf(rank), view, view.system->position(proxy)),
                reach.gdr(gpu, net, direction).yes, NetReason::kGraph};
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
  topology::NodeId like = topology::kNoNode;
  for (topology::NodeId other : system.nodes(topology::NodeType::kGpu))
    if (system.gpu(other).dev == peerDev && like == topology::kNoNode) like = other;
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
        view.paths->path(relay, wanted).type <= paths::PathType::kPxb)
      end = {wanted, rankOf(relay), false, NetReason::kPeersGpu};
  }
  return finish();
}

}  // namespace xylem::connect
