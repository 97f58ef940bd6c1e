#include "cli/planner/rank_text.h"

#include <fmt/format.h>

#include "cli/machine_words.h"
#include "cli/table.h"
#include "planner/connect/collnet_links.h"
#include "planner/connect/net_choice.h"
#include "planner/connect/nvls_links.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"

namespace xylem::cli {
namespace {

std::string placeText(const Plan& plan, int rank, const Terminal& screen) {
  const Connections& c = plan.connections;
  const System& system = plan.hostOf(rank).system();
  const NodeId gpu = c.job.gpuOf(rank);
  const auto at = static_cast<std::size_t>(rank);
  std::string text =
      fmt::format("{} of {}: host {}, {} ({}, sm {})\n",
                  screen.paint(Style::kBold, fmt::format("rank {}", rank)), c.job.ranks(), c.job.hostOf(rank),
                  system.name(gpu), fmt::format("device {}", system.gpu(gpu).dev), system.gpu(gpu).sm);
  text += fmt::format("node {} of {}, local rank {}\n", c.nodes.ofRank[at], c.nodes.count(),
                      c.nodes.localRank[at]);
  const ViewDecisions& mine = c.of(rank);
  text += fmt::format("channels: {} for collectives, {} for NVLS, {} for send/receive ({} per peer)\n",
                      mine.channels.collective, mine.nvlsChannels, mine.p2pChannels, mine.p2pChannelsPerPeer);
  return text;
}

std::string rankName(int rank) { return rank < 0 ? "-" : std::to_string(rank); }

// How data goes to or comes from a neighbour.
std::string wayName(const Plan& plan, const NetChoice& nets, int rank, int peer, int channel,
                    Direction direction) {
  const auto end = nets.ringEnd(rank, channel, peer, direction);
  if (!end) return peer == rank ? "" : name(nets.transport(rank, peer, direction));
  const System& system = plan.hostOf(rank).system();
  if (end->net == kNoNode) return "no NIC";
  std::string text = nodeLabel(system, end->net);
  if (end->proxy != rank) text += fmt::format(" by rank {}", end->proxy);
  return text + (end->gdr ? ", GDR" : "");
}

std::string channelsText(const Plan& plan, int rank, const Terminal& screen) {
  const Connections& c = plan.connections;
  const NetChoice nets(c, plan.reach);
  Table table({{"channel", Align::kRight},
               {"from", Align::kRight},
               {"through"},
               {"to", Align::kRight},
               {"through"},
               {"tree up", Align::kRight},
               {"tree down"}});
  for (int channel = 0; channel < c.of(rank).channels.total(); ++channel) {
    const RingNeighbours ring = ringNeighbours(c, rank, channel);
    const TreeLinks tree = treeOf(c, rank, channel);
    std::string down;
    for (int child : tree.down)
      if (child >= 0) down += (down.empty() ? "" : " ") + std::to_string(child);
    table.add({{std::to_string(channel)},
               {rankName(ring.previous)},
               {wayName(plan, nets, rank, ring.previous, channel, Direction::kReceive), Style::kCyan},
               {rankName(ring.next)},
               {wayName(plan, nets, rank, ring.next, channel, Direction::kSend), Style::kCyan},
               {rankName(tree.up)},
               {down.empty() ? "-" : down}});
  }
  return table.text(screen, 2);
}

}  // namespace

std::string rankText(const Plan& plan, int rank, const Terminal& screen) {
  return placeText(plan, rank, screen) + '\n' +
         screen.paint(Style::kBold, "Neighbours in the ring and the tree of each channel") + '\n' +
         channelsText(plan, rank, screen);
}

}  // namespace xylem::cli
