// Properties of the connections of whole jobs, for every kind of job and placement of ranks.

#include "planner/connect/connections.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "planner/connect/collnet_nvls.h"
#include "planner/connect/p2p.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/plan/planner.h"
#include "planner_support/rules.h"

namespace xylem::plan {
namespace {

std::shared_ptr<const topology::Document> zoo(const std::string& name) {
  return std::make_shared<const topology::Document>(
      topology::readTopology(std::string(XYLEM_SOURCE_DIR) + "/topologies/" + name + ".xml"));
}

PlanRequest mixedJob(Placement placement) {
  PlanRequest request;
  request.hosts = {{zoo("dgxh100"), {}, 2}, {zoo("dgxa100"), {6, 1, 3}, 3}, {zoo("seed-a40x2"), {}, 1}};
  request.placement = placement;
  return request;
}

const std::vector<PlanRequest>& jobs() {
  static const std::vector<PlanRequest> all = [] {
    std::vector<PlanRequest> list = {mixedJob(Placement::kBlocks), mixedJob(Placement::kRoundRobin),
                                     identicalHosts(*zoo("dgxh100"), 5), identicalHosts(*zoo("dgx1v"), 2),
                                     identicalHosts(*zoo("net-faster-than-p2p"), 2)};
    list[2].offered.nvls = true;
    return list;
  }();
  return all;
}

TEST(Connections, RingsVisitEveryRankAndNeighboursAgree) {
  for (const PlanRequest& request : jobs()) {
    const Plan plan = planJob(request, Settings());
    const connect::Connections& c = plan.connections;
    for (int channel = 0; channel < c.nChannels(); ++channel) {
      const std::vector<int> ring = connect::ringOf(c, channel);
      ASSERT_EQ(ring.front(), 0);
      EXPECT_EQ(std::set<int>(ring.begin(), ring.end()).size(), static_cast<std::size_t>(c.job.ranks()));
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const connect::RingNeighbours around = connect::ringNeighbours(c, ring[i], channel);
        EXPECT_EQ(around.next, ring[(i + 1) % ring.size()]);
        EXPECT_EQ(around.previous, ring[(i + ring.size() - 1) % ring.size()]);
      }
    }
  }
}

// Each child of a rank names the rank as its parent, there is one root, and there are no circles.
TEST(Connections, TreesAreTrees) {
  for (const PlanRequest& request : jobs()) {
    const Plan plan = planJob(request, Settings());
    const connect::Connections& c = plan.connections;
    for (int channel = 0; channel < c.nChannels(); ++channel) {
      int roots = 0;
      int children = 0;
      for (int rank = 0; rank < c.job.ranks(); ++rank) {
        const connect::TreeLinks links = connect::treeOf(c, rank, channel);
        roots += links.up < 0 ? 1 : 0;
        for (int child : links.down) {
          if (child < 0) continue;
          ++children;
          ASSERT_EQ(connect::treeOf(c, child, channel).up, rank) << "channel " << channel;
        }
        int steps = 0;
        for (int up = rank; up >= 0; up = connect::treeOf(c, up, channel).up)
          ASSERT_LE(++steps, c.job.ranks());
      }
      EXPECT_EQ(roots, 1);
      EXPECT_EQ(children, c.job.ranks() - 1);
    }
  }
}

TEST(Connections, EverybodyMeetsEverybodyOnceAndBothEndsKnow) {
  for (const PlanRequest& request : jobs()) {
    const Plan plan = planJob(request, Settings());
    const connect::Connections& c = plan.connections;
    std::vector<std::vector<connect::P2pRound>> schedules;
    for (int rank = 0; rank < c.job.ranks(); ++rank) schedules.push_back(connect::p2pSchedule(c, rank));
    for (int rank = 0; rank < c.job.ranks(); ++rank) {
      const auto& mine = schedules[static_cast<std::size_t>(rank)];
      ASSERT_EQ(mine.size(), schedules.size());
      std::set<int> met;
      for (std::size_t round = 0; round < mine.size(); ++round) {
        met.insert(mine[round].sendTo);
        EXPECT_EQ(schedules[static_cast<std::size_t>(mine[round].sendTo)][round].receiveFrom, rank);
      }
      EXPECT_EQ(met.size(), schedules.size());
    }
  }
}

TEST(P2pSchedule, SpreadsNearDistances) {
  const Plan plan = planJob(identicalHosts(*zoo("dgxh100")), testing::settings225());
  const connect::Connections& c = plan.connections;
  std::vector<int> peers;
  for (const connect::P2pRound& round : connect::p2pSchedule(c, 0)) peers.push_back(round.sendTo);
  EXPECT_EQ(peers, (std::vector<int>{0, 1, 3, 6, 2, 7, 5, 4}));
}

TEST(P2pSchedule, PartsOfATransferSpreadOverChannels) {
  const Plan plan = planJob(identicalHosts(*zoo("dgxh100")), testing::settings225());
  const connect::Connections& c = plan.connections;
  std::vector<int> channels;
  for (int part = 0; part < 8; ++part) channels.push_back(connect::p2pChannelOfPart(c, 1, part, 8));
  EXPECT_EQ(channels, (std::vector<int>{1, 5, 3, 7, 2, 6, 4, 0}));
}

TEST(Connections, NvlsTreesJoinTheHeadsOfAllNodes) {
  const Plan plan = planJob(jobs()[2], Settings());
  const connect::Connections& c = plan.connections;
  ASSERT_EQ(c.nvlsHeads, 8);
  for (int tree : {0, 1}) {
    for (int rank = 0; rank < c.job.ranks(); ++rank) {
      const connect::TreeLinks links = connect::nvlsOf(c, rank).trees[static_cast<std::size_t>(tree)];
      for (std::size_t slot = 1; slot < links.down.size(); ++slot) {
        if (links.down[slot] < 0) continue;
        EXPECT_EQ(connect::nvlsOf(c, links.down[slot]).trees[static_cast<std::size_t>(tree)].up, rank);
      }
    }
  }
}

TEST(Job, RefusesPlacesThatHostsDoNotHave) {
  PlanRequest request = identicalHosts(*zoo("seed-a40x2"), 2);
  request.hostOfRank = {0, 1, 1, 0};
  EXPECT_EQ(planJob(request, Settings()).job().hostOf(2), 1);
  for (std::vector<int> bad : {std::vector<int>{0, 0, 0, 1}, {0, 1}, {0, 0, 2, 1}, {0, 0, -1, 1}}) {
    request.hostOfRank = bad;
    EXPECT_THROW(planJob(request, Settings()), Error);
  }
}

TEST(Job, RoundRobinGivesEachHostARankInTurn) {
  PlanRequest request = identicalHosts(*zoo("seed-a40x2"), 3);
  request.placement = Placement::kRoundRobin;
  const Plan plan = planJob(request, Settings());
  std::vector<int> hosts;
  for (int rank = 0; rank < 6; ++rank) hosts.push_back(plan.job().hostOf(rank));
  EXPECT_EQ(hosts, (std::vector<int>{0, 1, 2, 0, 1, 2}));
}

}  // namespace
}  // namespace xylem::plan
