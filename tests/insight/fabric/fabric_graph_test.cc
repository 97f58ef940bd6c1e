// Paths through a fabric: the shortest ones, spread evenly over cables.

#include "insight/fabric/fabric_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "insight/fabric/samples.h"

namespace xylem::fabric {
namespace {

using ::testing::ElementsAre;

// Returns the share of a flow on each link between switches, by the switches' names.
std::map<std::pair<std::string, std::string>, double> shares(FabricGraph& network, int from, int to) {
  std::map<std::pair<std::string, std::string>, double> found;
  for (const LinkShare& share : network.route(network.leaf(from), network.leaf(to)))
    found[{network.link(share.link).from, network.link(share.link).to}] += share.part;
  return found;
}

TEST(NetworkTest, SpinesOfAFatTreeAreOne) {
  const Fabric fabric = testing::fabricOf(
      "switch leaf[0-2] spine[0-3]\nlink leaf[0-2] spine[0-3] 100Gb/s x2\nnic h[0-2] m leaf0 100Gb/s\n"
      "nic g[0-1] m leaf1 100Gb/s\n");
  // leaf2 has no hosts, but other neighbours than the spines.
  EXPECT_THAT(twinSwitches(fabric), ElementsAre(0, 1, 2, 3, 3, 3, 3));
  FabricGraph network(fabric);
  const auto way = shares(network, network.port(0, 0), network.port(3, 0));
  ASSERT_EQ(way.size(), 2u);
  EXPECT_DOUBLE_EQ(way.at({"leaf0", "spine0..spine3 (4)"}), 1);
  EXPECT_DOUBLE_EQ(way.at({"spine0..spine3 (4)", "leaf1"}), 1);
  const int link = network.route(network.leaf(0), network.leaf(3)).front().link;
  EXPECT_EQ(network.link(link).cables, 8);
  EXPECT_TRUE(network.route(network.leaf(0), network.leaf(1)).empty()) << "the same leaf";
}

TEST(NetworkTest, UnevenCablesCarryUnevenShares) {
  const Fabric fabric = testing::fabricOf(
      "switch a b s t\nlink a,b s 100Gb/s x3\nlink a t 100Gb/s\nlink t b 100Gb/s x5\n"
      "nic h m a 100Gb/s\nnic g m b 100Gb/s\n");
  FabricGraph network(fabric);
  const auto way = shares(network, 0, 1);
  EXPECT_DOUBLE_EQ(way.at({"a", "s"}), 0.75);
  EXPECT_DOUBLE_EQ(way.at({"s", "b"}), 0.75);
  EXPECT_DOUBLE_EQ(way.at({"a", "t"}), 0.25);
  EXPECT_DOUBLE_EQ(way.at({"t", "b"}), 0.25);
  EXPECT_EQ(network.distance(network.leaf(0), network.leaf(1)), 2);
}

TEST(NetworkTest, NoWay) {
  const Fabric fabric = testing::fabricOf("switch a b\nnic h m a 100Gb/s\nnic g m b 100Gb/s\n");
  FabricGraph network(fabric);
  EXPECT_LT(network.distance(network.leaf(0), network.leaf(1)), 0);
  EXPECT_THROW(network.route(network.leaf(0), network.leaf(1)), Error);
  EXPECT_THROW(network.route(network.leaf(0), network.leaf(1)), Error) << "asked again";
}

// Three levels: what leaves a switch is what came in, and merging spines that are alike changes no share.
TEST(NetworkTest, WhatComesInGoesOut) {
  rc::check([] {
    const int pods = *rc::gen::inRange(1, 4);
    const int leaves = *rc::gen::inRange(1, 4);
    const int tops = *rc::gen::inRange(1, 4);
    const int cores = *rc::gen::inRange(1, 4);
    std::string text = fmt::format("switch l[0-{}]x[0-{}] t[0-{}]x[0-{}] c[0-{}]x[0-{}]\n", pods - 1,
                                   leaves - 1, pods - 1, tops - 1, tops - 1, cores - 1);
    for (int pod = 0; pod < pods; ++pod) {
      text += fmt::format("link l{0}x[0-{1}] t{0}x[0-{2}] 10Gb/s x{3}\n", pod, leaves - 1, tops - 1,
                          *rc::gen::inRange(1, 4));
      for (int top = 0; top < tops; ++top)
        text += fmt::format("link t{}x{} c{}x[0-{}] 10Gb/s\n", pod, top, top, cores - 1);
      for (int leaf = 0; leaf < leaves; ++leaf)
        text += fmt::format("nic h{0}x{1} m l{0}x{1} 10Gb/s\n", pod, leaf);
    }
    FabricGraph network(testing::fabricOf(text));
    const int hosts = pods * leaves;
    for (int from = 0; from < hosts; ++from)
      for (int to = 0; to < hosts; ++to) {
        if (from == to) continue;
        std::map<std::string, double> balance;
        for (const LinkShare& share : network.route(network.leaf(from), network.leaf(to))) {
          RC_ASSERT(share.part > 0);
          balance[network.link(share.link).from] -= share.part;
          balance[network.link(share.link).to] += share.part;
        }
        const std::string& source = network.link(network.outOf(from)).to;
        const std::string& target = network.link(network.outOf(to)).to;
        for (const auto& [name, sum] : balance)
          RC_ASSERT(std::abs(sum - (name == source ? -1 : name == target ? 1 : 0)) < 1e-9);
      }
  });
}

}  // namespace
}  // namespace xylem::fabric
