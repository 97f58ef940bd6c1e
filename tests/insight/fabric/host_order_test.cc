// Orders of hosts: their loads on links, counted by hand, and that a proposed order is as good as it says.

#include "insight/fabric/host_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "insight/fabric/name_ranges.h"
#include "insight/fabric/samples.h"

namespace xylem::fabric {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kZoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";

plan::Plan planOfZoo(const std::string& name, int count) {
  return plan::planJob(plan::identicalHosts(topology::readTopology(kZoo + name), count), Settings());
}

// Returns the bytes on the link between two named ends.
double bytesOn(const HostOrder& order, const OrderedHosts& hosts, int kind, const std::string& from,
               const std::string& to) {
  const Congestion congestion(hosts.traffic, *order.attachments, *order.network, hosts.order);
  for (int link = 0; link < order.network->links(); ++link)
    if (order.network->link(link).from == from && order.network->link(link).to == to)
      return congestion.bytes(kind, link);
  return -1;
}

// Four ranks: each sends 2 * 3/4 bytes per byte. If hosts alternate between two leaves, every edge of
// the ring crosses; in the order of leaves one edge per direction does.
TEST(HostOrderTest, RingOverTwoLeavesByTurns) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 4);
  const Fabric fabric = testing::fabricOf(testing::kTwoLeaves);
  const HostOrder order = testing::ordered(plan, fabric, {"a", "c", "b", "d"});
  const TrafficScore& now = order.now.score[kRingTraffic];
  const TrafficScore& proposed = order.proposed.score[kRingTraffic];
  for (const char* leaf : {"leaf0", "leaf1"}) {
    EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, leaf, "spine"), 3, 1e-9);
    EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "spine", leaf), 3, 1e-9);
    EXPECT_NEAR(bytesOn(order, order.proposed, kRingTraffic, leaf, "spine"), 1.5, 1e-9);
    EXPECT_NEAR(bytesOn(order, order.proposed, kRingTraffic, "spine", leaf), 1.5, 1e-9);
  }
  EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "a mlx5_0", "leaf0"), 1.5, 1e-9);
  EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "leaf1", "d mlx5_0"), 1.5, 1e-9);
  EXPECT_NEAR(now.all, 12, 1e-9);  // four edges over two links each
  EXPECT_NEAR(proposed.all, 6, 1e-9);
  EXPECT_NEAR(now.most, 3, 1e-9);
  // 3 bytes through 12.5 GB/s against 1.5 bytes through a NIC that the plan counts on for less than that.
  const double planned = order.now.traffic.nics[0].planned[kRingTraffic];
  ASSERT_GT(planned, 0);
  EXPECT_NEAR(now.slowdown, (3 / 12.5) / (1.5 / std::min(planned, 12.5)), 1e-6);
  EXPECT_EQ(proposed.slowdown, 1);
  EXPECT_TRUE(order.allTried);
  // The two hosts of a leaf are neighbours; the first and the last host of an order count as neighbours, too.
  EXPECT_THAT(testing::names(order), AnyOf(ElementsAre("a", "b", "c", "d"), ElementsAre("a", "c", "d", "b"),
                                           ElementsAre("c", "a", "b", "d"), ElementsAre("c", "d", "a", "b")));
}

// The trees of four hosts as the planner lays them, each edge both ways with its channels' share.
TEST(HostOrderTest, TreesAreThoseOfThePlan) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 4);
  const Traffic traffic = trafficOf(plan.connections, plan.reach);
  double sum = 0;
  std::set<std::pair<int, int>> pairs;
  for (const Flow& stream : traffic.flows[kTreeTraffic]) {
    sum += stream.bytes;
    pairs.insert({stream.from, stream.to});
  }
  EXPECT_NEAR(sum, 2 * 3, 1e-9) << "three edges, up and down, all channels together";
  for (const auto& [from, to] : pairs) EXPECT_TRUE(pairs.contains({to, from}));
}

// NIC i of every host at leaf i: the rings stay on their rails, whatever the order.
TEST(HostOrderTest, RailsCarryEverythingInsideAGroup) {
  const plan::Plan plan = planOfZoo("dgxh100.xml", 4);
  const Fabric fabric = testing::fabricOf(
      "switch rail[0-7] spine[0-3]\nlink rail[0-7] spine[0-3] 400Gb/s\nnic h[0-3] mlx5_[0-7] rail[0-7] "
      "400Gb/s\n");
  const HostOrder order = testing::ordered(plan, fabric, {"h2", "h0", "h3", "h1"});
  for (const TrafficScore& score : order.now.score) {
    EXPECT_EQ(score.all, 0);
    EXPECT_EQ(score.slowdown, 1);
  }
  EXPECT_FALSE(order.isBetter());
}

// Two groups of rails with one uplink for eight NICs' worth of traffic each.
TEST(HostOrderTest, GroupsOfRailsByTurns) {
  const plan::Plan plan = planOfZoo("dgxh100.xml", 8);
  const Fabric fabric = testing::fabricOf(
      "switch a[0-7] b[0-7] spine[0-7]\n"
      "link a[0-7],b[0-7] spine[0-7] 50Gb/s\n"
      "nic h[0-3] mlx5_[0-7] a[0-7] 400Gb/s\nnic h[4-7] mlx5_[0-7] b[0-7] 400Gb/s\n");
  const HostOrder order =
      testing::ordered(plan, fabric, expandNames("h0,h4,h1,h5,h2,h6,h3,h7", {"hosts", 1}));
  // In the given order all eight edges of each rail's ring cross; if each group is kept together, two do.
  EXPECT_NEAR(order.now.score[kRingTraffic].all / order.proposed.score[kRingTraffic].all, 4, 1e-6);
  EXPECT_GT(order.now.score[kRingTraffic].slowdown, 3);
  EXPECT_EQ(order.proposed.score[kRingTraffic].slowdown, 1);
}

// All NICs but one are at one leaf: the plan's choice of NICs decides which leaf a channel uses.
TEST(HostOrderTest, NicsAreThoseOfTheChannels) {
  const plan::Plan plan = planOfZoo("dgxh100.xml", 2);
  const Fabric fabric = testing::fabricOf(
      "switch left right\nlink left right 3200Gb/s\n"
      "nic h0 mlx5_[0-7] left 400Gb/s\nnic h1 mlx5_[0-6] left 400Gb/s\nnic h1 mlx5_7 right 400Gb/s\n");
  const HostOrder order = testing::ordered(plan, fabric, {"h0", "h1"});
  // An eighth of the channels, from 16 ranks: 2 * 15/16 bytes per byte, to h1 and back.
  EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "left", "right"), 2 * 15 / 16.0 / 8, 1e-6);
  EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "right", "left"), 2 * 15 / 16.0 / 8, 1e-6);
}

TEST(HostOrderTest, PortsOfANicShareIt) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 2);
  const Fabric fabric = testing::fabricOf(
      "switch l r s\nlink l,r s 100Gb/s\nnic a,b mlx5_0 l 50Gb/s\nnic a,b mlx5_0 r 50Gb/s\n");
  const HostOrder order = testing::ordered(plan, fabric, {"a", "b"});
  EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "a mlx5_0", "l"), 0.5, 1e-9);
  EXPECT_NEAR(bytesOn(order, order.now, kRingTraffic, "a mlx5_0", "r"), 0.5, 1e-9);
  EXPECT_EQ(order.now.score[kRingTraffic].all, 0) << "port to port, not across";
}

TEST(HostOrderTest, NumbersNameNicsToo) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 2);
  const Fabric fabric = testing::fabricOf("switch l\nnic a,b 0 l 100Gb/s\n");
  EXPECT_EQ(testing::ordered(plan, fabric, {"a", "b"}).now.score[kRingTraffic].slowdown, 1);
}

TEST(HostOrderTest, SaysWhatDoesNotFit) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 2);
  const auto complaint = [&](const plan::Plan& job, const std::string& text,
                             const std::vector<std::string>& hosts) {
    try {
      const Fabric fabric = testing::fabricOf(text);
      testing::ordered(job, fabric, hosts);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(complaint(plan, testing::kTwoLeaves, {"a", "e"}), HasSubstr("no host `e`"));
  EXPECT_THAT(complaint(plan, testing::kTwoLeaves, {"a", "a"}), HasSubstr("`a` twice"));
  EXPECT_THAT(complaint(plan, "switch l\nnic a,b eth0 l 1Gb/s\n", {"a", "b"}),
              HasSubstr("`mlx5_0`, which the plan uses"));
  EXPECT_THAT(complaint(plan, "switch l r\nnic a mlx5_0 l 1Gb/s\nnic b mlx5_0 r 1Gb/s\n", {"a", "b"}),
              HasSubstr("no way from l to r"));
  EXPECT_THAT(complaint(testing::planOf(testing::oneGpuOneNic(), 1), testing::kTwoLeaves, {"a"}),
              HasSubstr("at least 2"));
  EXPECT_THAT(complaint(planOfZoo("gpu1-nonic.xml", 2), testing::kTwoLeaves, {"a", "b"}),
              HasSubstr("reaches no NIC"));
}

// Hosts of two kinds: another order of the kinds changes the job, so the planner plans it again.
TEST(HostOrderTest, HostsOfTwoKinds) {
  plan::PlanRequest request = plan::identicalHosts(topology::readTopology(kZoo + "dgxh100.xml"), 4);
  request.hosts.push_back(
      {std::make_shared<const topology::Document>(topology::readTopology(kZoo + "dgxa100.xml")), {}, 4});
  const plan::Plan plan = plan::planJob(request, Settings());
  const Fabric fabric = testing::fabricOf(
      "switch x y\nlink x y 100Gb/s\nnic h[0,2,4,6] mlx5_[0-9],mlx5_1[0-1] x 400Gb/s\n"
      "nic h[1,3,5,7] mlx5_[0-9],mlx5_1[0-1] y 400Gb/s\n");
  const std::vector<std::string> hosts = expandNames("h[0-7]", {"hosts", 1});
  const HostOrder order = testing::ordered(plan, fabric, hosts);
  EXPECT_LT(order.proposed.score[kRingTraffic].slowdown, order.now.score[kRingTraffic].slowdown * 0.6);
  // The same hosts in that order as a job of its own.
  plan::PlanRequest again;
  for (int host : order.proposed.order) {
    again.hosts.push_back(request.hosts[host < 4 ? 0 : 1]);
    again.hosts.back().count = 1;
  }
  const HostOrder check = testing::ordered(plan::planJob(again, Settings()), fabric, testing::names(order));
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind)
    EXPECT_NEAR(check.now.score[kind].all, order.proposed.score[kind].all, 1e-6);
}

// Any job on any two-level fabric: the proposal is an order of the same hosts, not slower, the same each
// time, and its scores are true of a job with hosts in that order.
TEST(HostOrderTest, NeverWorseAndTrue) {
  rc::check([] {
    const int leaves = *rc::gen::inRange(1, 5);
    const int spines = *rc::gen::inRange(1, 3);
    const int count = *rc::gen::inRange(2, 15);
    const int gbits = *rc::gen::element(10, 50, 200);
    std::string text = fmt::format("switch l[0-{0}] s[0-{1}]\nlink l[0-{0}] s[0-{1}] {2}Gb/s\n", leaves - 1,
                                   spines - 1, gbits);
    std::vector<std::string> hosts;
    for (int i = 0; i < count; ++i) {
      hosts.push_back(fmt::format("h{}", i));
      text += fmt::format("nic h{} mlx5_0 l{} {}Gb/s\n", i, *rc::gen::inRange(0, leaves),
                          *rc::gen::element(100, 100, 100, 40));
    }
    const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), count);
    const Fabric fabric = testing::fabricOf(text);
    const HostOrder order = testing::ordered(plan, fabric, hosts);
    std::vector<int> sorted = order.proposed.order;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < count; ++i) RC_ASSERT(sorted[static_cast<std::size_t>(i)] == i);
    RC_ASSERT(testing::ordered(plan, fabric, hosts).proposed.order == order.proposed.order);
    const HostOrder again = testing::ordered(plan, fabric, testing::names(order));
    for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
      RC_ASSERT(order.proposed.score[kind].slowdown <= order.now.score[kind].slowdown * (1 + 1e-9));
      RC_ASSERT(std::abs(again.now.score[kind].all - order.proposed.score[kind].all) < 1e-6);
      RC_ASSERT(std::abs(again.now.score[kind].most - order.proposed.score[kind].most) < 1e-6);
    }
  });
}

// Where all orders are tried, a search by swaps finds nothing better, and swapping leaves true numbers
// behind.
TEST(HostOrderTest, SwapsAddUp) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 4);
  const Fabric fabric = testing::fabricOf(testing::kTwoLeaves);
  const HostOrder order = testing::ordered(plan, fabric, {"a", "c", "b", "d"});
  Congestion swapped(order.now.traffic, *order.attachments, *order.network, {0, 1, 2, 3});
  swapped.swap(0, 3);
  swapped.swap(1, 3);
  swapped.swap(2, 1);
  const Congestion fresh(order.now.traffic, *order.attachments, *order.network, swapped.order());
  for (int kind = 0; kind < kTrafficKinds; ++kind)
    for (int link = 0; link < order.network->links(); ++link)
      EXPECT_NEAR(swapped.bytes(kind, link), fresh.bytes(kind, link), 1e-9);
}

TEST(HostOrderTest, LocalSearchIsNearTheBestOfAll) {
  const plan::Plan plan = testing::planOf(testing::oneGpuOneNic(), 8);
  const Fabric fabric = testing::fabricOf(
      "switch l[0-2] s\nlink l[0-2] s 50Gb/s\nnic h[0,3,6] mlx5_0 l0 100Gb/s\nnic h[1,4,7] mlx5_0 l1 "
      "100Gb/s\n"
      "nic h[2,5] mlx5_0 l2 100Gb/s\n");
  const std::vector<std::string> hosts = expandNames("h[0-7]", {"hosts", 1});
  const HostOrder best = testing::ordered(plan, fabric, hosts);
  ASSERT_TRUE(best.allTried);
  HostOrderRequest request{plan, fabric, hosts};
  request.limits.maxArrangements = 1;
  const HostOrder found = orderHosts(request);
  ASSERT_FALSE(found.allTried);
  const auto sum = [](const HostOrder& order) {
    return order.proposed.score[kRingTraffic].slowdown + order.proposed.score[kTreeTraffic].slowdown;
  };
  EXPECT_GE(sum(found), sum(best) * (1 - 1e-9));
  EXPECT_LE(sum(found), sum(best) * 1.25);
}

}  // namespace
}  // namespace xylem::fabric
