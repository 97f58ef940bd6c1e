#include "insight/report/job_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"

namespace xylem {
namespace {

std::string netText(const Plan& plan, int rank, NodeId net) {
  if (net == kNoNode) return "";
  const Net& device = plan.hostOf(rank).system().net(net);
  return device.name.empty() ? fmt::format("NET {}", device.dev)
                             : fmt::format("NET {} ({})", device.dev, device.name);
}

void addRings(const Connections& c, PictureJob& job) {
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    std::vector<int> ranks = ringOf(c, channel);
    const auto same = std::find_if(job.rings.begin(), job.rings.end(),
                                   [&](const PictureRing& ring) { return ring.ranks == ranks; });
    if (same == job.rings.end())
      job.rings.push_back({{channel}, std::move(ranks)});
    else
      same->channels.push_back(channel);
  }
}

// As the first channel of a ring does it; its other channels may use other NICs of the same GPUs.
void addCrossings(const Plan& plan, PictureJob& job) {
  const NetChoice choice(plan.connections, plan.reach);
  for (std::size_t i = 0; i < job.rings.size(); ++i) {
    const std::vector<int>& ranks = job.rings[i].ranks;
    const int channel = job.rings[i].channels.front();
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      const int from = ranks[at];
      const int to = ranks[(at + 1) % ranks.size()];
      if (job.nodeOfRank[static_cast<std::size_t>(from)] == job.nodeOfRank[static_cast<std::size_t>(to)])
        continue;
      const auto out = choice.ringEnd(from, channel, to, Direction::kSend);
      const auto in = choice.ringEnd(to, channel, from, Direction::kReceive);
      job.crossings.push_back({.ring = static_cast<int>(i),
                               .from = from,
                               .to = to,
                               .fromNet = out ? netText(plan, from, out->net) : "",
                               .toNet = in ? netText(plan, to, in->net) : "",
                               .fromGdr = out && out->gdr,
                               .toGdr = in && in->gdr});
    }
  }
}

int depthOf(const std::vector<TreePlaceOfRank>& ranks, int rank) {
  int depth = 0;
  for (int up = ranks[static_cast<std::size_t>(rank)].up; up >= 0;
       up = ranks[static_cast<std::size_t>(up)].up)
    ++depth;
  return depth;
}

void addTrees(const Connections& c, PictureJob& job) {
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    std::vector<TreePlaceOfRank> ranks;
    for (int rank = 0; rank < job.ranks; ++rank) ranks.push_back({rank, treeOf(c, rank, channel).up, 0});
    for (TreePlaceOfRank& place : ranks) place.depth = depthOf(ranks, place.rank);
    const auto same = std::find_if(job.trees.begin(), job.trees.end(), [&](const PictureTree& tree) {
      return std::equal(tree.ranks.begin(), tree.ranks.end(), ranks.begin(),
                        [](const auto& a, const auto& b) { return a.up == b.up; });
    });
    if (same == job.trees.end())
      job.trees.push_back({{channel}, std::move(ranks)});
    else
      same->channels.push_back(channel);
  }
}

}  // namespace

PictureJob jobPicture(const Plan& plan) {
  const Connections& c = plan.connections;
  PictureJob job;
  job.ranks = c.job.ranks();
  job.nodes = c.nodes.count();
  job.hosts = c.job.hosts();
  job.channels = c.nChannels();
  job.leftOut = job.ranks > kMostJobRanks;
  if (job.leftOut) return job;
  job.nodeOfRank = c.nodes.ofRank;
  addRings(c, job);
  if (job.nodes > 1) addCrossings(plan, job);
  addTrees(c, job);
  return job;
}

}  // namespace xylem
