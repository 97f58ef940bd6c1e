// Channels are chosen by all functions and sizes: whatever is chosen makes a job faster somewhere and slower
// nowhere, by NCCL's model of the job that loads the graph file.
#include "insight/optimum/choose_channels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "planner/search/graph_file.h"
#include "planner/tuning/choice.h"
#include "planner_support/any_machine.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace xylem::optimum {
namespace {

using namespace testing;  // NOLINT: the machines

struct Case {
  plan::PlanRequest request;
  plan::Plan plan;
  ChosenChannels chosen;
};

Case chosenFor(plan::PlanRequest request, const Weights& weights = {}) {
  plan::Plan plan = plan::planJob(request, Settings());
  ChosenChannels chosen = chooseChannels(request, Settings(), plan, {}, weights);
  return {std::move(request), std::move(plan), std::move(chosen)};
}

plan::PlanRequest requestOf(const std::string& machine, int hosts) {
  const std::string file = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + machine + ".xml";
  return plan::identicalHosts(topology::readTopology(file), hosts);
}

// Several tests look at the same choice, which is made once.
const Case& chosenFor(const std::string& machine, int hosts) {
  static std::map<std::pair<std::string, int>, Case> known;
  const std::pair key(machine, hosts);
  if (!known.contains(key)) known.emplace(key, chosenFor(requestOf(machine, hosts)));
  return known.at(key);
}

float timeOf(const plan::Plan& plan, Collective collective, std::uint64_t bytes) {
  return tuning::choose(plan.tuning.front(), {.collective = collective, .bytes = bytes}).best()->time;
}

// The greatest factor by which an operation is slower with the graph file, computed from scratch.
double worstLoss(const Case& c) {
  if (!c.chosen.wins()) return 1;
  plan::PlanRequest request = c.request;
  for (const ChosenChannels::Part& part : c.chosen.parts)
    request.graphFileOfView.push_back(
        std::make_shared<const search::GraphFile>(search::parseGraphFile(part.file, "graph.xml")));
  const plan::Plan planned = plan::planJob(request, Settings());
  double worst = 0;
  for (const Collective collective : kAllCollectives)
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{8} << 30; bytes *= 2)
      worst = std::max(worst, static_cast<double>(timeOf(planned, collective, bytes)) /
                                  static_cast<double>(timeOf(c.plan, collective, bytes)));
  return worst;
}

constexpr double kRounding = 0.002;

// Every element of `all`; with a sanitizer every fourth.
template <typename T>
std::vector<T> tried(std::initializer_list<T> all) {
  std::vector<T> some;
  for (std::size_t i = 0; i < all.size(); i += kMachineStride) some.push_back(all.begin()[i]);
  return some;
}

// Machines on which more bandwidth alone made Broadcast and Reduce, or small AllReduces, slower.
TEST(ChooseChannels, NothingIsSlowerWhereBandwidthAloneMisled) {
  const auto cases = tried<std::pair<const char*, int>>({{"l40sx8-2switch", 2},
                                                         {"pcilink-bcm", 2},
                                                         {"dgxa100-7gpu", 2},
                                                         {"dgxa100-nogdr-nic0", 2},
                                                         {"dgxh100", 1},
                                                         {"l40sx8-pcie", 1},
                                                         {"l40sx8-pcie", 2},
                                                         {"dgx1v-5gpu", 1}});
  int candidates = 0;
  for (const auto& [machine, hosts] : cases) {
    SCOPED_TRACE(fmt::format("{} on {} hosts", machine, hosts));
    const Case& c = chosenFor(machine, hosts);
    candidates += c.chosen.tried;
    EXPECT_LT(worstLoss(c), 1 + kRounding);
    if (c.chosen.wins()) {
      EXPECT_TRUE(c.chosen.judgement.gains());
      EXPECT_THAT(fasterRanges(c.chosen.judgement), ::testing::Not(::testing::IsEmpty()));
      EXPECT_THAT(slowerRanges(c.chosen.judgement), ::testing::IsEmpty());
    }
  }
  EXPECT_GT(candidates, 5 / kMachineStride);
}

TEST(ChooseChannels, WinsWhereSomethingCanBeWon) {
  EXPECT_TRUE(chosenFor("nic-nogdr", 2).chosen.wins());
  EXPECT_TRUE(chosenFor("rand-067", 1).chosen.wins());
}

TEST(ChooseChannels, KeepsTheSearchsChannelsWhereNothingWins) {
  const Case& c = chosenFor("dgxa100", 2);
  EXPECT_FALSE(c.chosen.wins());
  EXPECT_EQ(c.chosen.parts.front().optimum.graphs[search::GraphKind::kRing].gpus,
            c.plan.hostOf(0).ring().gpus);
  EXPECT_EQ(c.chosen.judgement.gain, 1);
}

// NCCL's model likes more channels; that alone is no reason to leave the search's.
TEST(ChooseChannels, SomeGraphHasMoreBandwidthIfAnythingIsChosen) {
  for (const char* machine : tried({"dgxa100", "dgxh100", "l40sx8-pcie", "pcilink-bcm", "nic-nogdr"}))
    for (const int hosts : {1, 2}) {
      const Case& c = chosenFor(machine, hosts);
      if (!c.chosen.wins()) continue;
      const Optimum& optimum = c.chosen.parts.front().optimum;
      EXPECT_TRUE(optimum.ring.best > optimum.ring.found * 1.001 ||
                  optimum.tree.best > optimum.tree.found * 1.001)
          << machine << " on " << hosts;
    }
}

// Two sockets without direct access between them are two parts, each with a graph file for its ranks.
TEST(ChooseChannels, ServesHostsOfSeveralParts) {
  for (const char* machine : tried({"rtxpro6000x8", "l4x8", "h100nvlx8-bridges", "uplink-x8"})) {
    SCOPED_TRACE(machine);
    const Case& c = chosenFor(machine, 2);
    ASSERT_GT(c.chosen.parts.size(), 1u);
    EXPECT_LT(worstLoss(c), 1 + kRounding);
    if (!c.chosen.wins()) continue;
    for (const ChosenChannels::Part& part : c.chosen.parts) EXPECT_NE(part.file, "");
  }
}

// Keeps NICs within the reach of GPU Direct RDMA where the search does.
TEST(ChooseChannels, KeepsGpuDirect) {
  for (const char* machine : {"dgxa100-7gpu", "dgxa100-nogdr-nic0"}) {
    const Case& c = chosenFor(machine, 2);
    for (const search::GraphKind kind : {search::GraphKind::kRing, search::GraphKind::kTree}) {
      if (c.plan.hostOf(0).graphs[kind].typeInter > paths::PathType::kPxn) continue;
      EXPECT_LE(c.chosen.parts.front().optimum.graphs[kind].typeInter, paths::PathType::kPxn) << machine;
    }
  }
}

TEST(ChooseChannels, NothingIsSlowerOnAnyMachine) {
  EXPECT_TRUE(rc::check([] {
    const int hosts = *rc::gen::inRange(1, 3);
    const Case c = chosenFor(plan::identicalHosts(topology::parseTopology(anyMachine(), "test.xml"), hosts));
    RC_ASSERT(worstLoss(c) < 1 + kRounding);
  }));
}

// The machines of the zoo, one host and two.
TEST(ChooseChannels, NothingIsSlowerOnTheZoo) {
  const int stride = byEffort({.quick = 40, .normal = 20, .night = 1}) * kMachineStride;
  std::vector<std::string> machines;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(XYLEM_SOURCE_DIR) + "/topologies"))
    if (entry.path().extension() == ".xml") machines.push_back(entry.path().stem().string());
  std::sort(machines.begin(), machines.end());
  ASSERT_GT(machines.size(), 50u);
  for (std::size_t i = 0; i < machines.size(); i += static_cast<std::size_t>(stride))
    for (const int hosts : {1, 2}) {
      const Case c = chosenFor(requestOf(machines[i], hosts));
      EXPECT_LT(worstLoss(c), 1 + kRounding) << machines[i] << " on " << hosts;
      EXPECT_EQ(c.chosen.wins(), c.chosen.judgement.gains()) << machines[i] << " on " << hosts;
    }
}

// A job of two kinds gets a file for each, unless ranks of the two would then wait for each other.
TEST(ChooseChannels, ServesTwoKindsOfHosts) {
  plan::PlanRequest request = requestOf("nic-nogdr", 1);
  request.hosts.push_back(requestOf("l40sx8-pcie", 1).hosts.front());
  request.hostsListed = true;
  const Case c = chosenFor(std::move(request));
  ASSERT_EQ(c.chosen.parts.size(), 2u);
  EXPECT_GT(c.chosen.tried, 0);
  EXPECT_LT(worstLoss(c), 1 + kRounding);
}

TEST(ChooseChannels, WhatHasNoWeightMayBeSlower) {
  const Weights allReduce =
      parseWeights({"Broadcast=0", "Reduce=0", "AllGather=0", "ReduceScatter=0"}, "--weight");
  const Case free = chosenFor(requestOf("l40sx8-2switch", 2), allReduce);
  const Case& bound = chosenFor("l40sx8-2switch", 2);
  ASSERT_TRUE(free.chosen.wins());
  for (const JudgedRange& range : slowerRanges(free.chosen.judgement))
    EXPECT_NE(range.collective, Collective::kAllReduce);
  EXPECT_GE(free.chosen.judgement.gain, 1);
  EXPECT_LT(worstLoss(bound), 1 + kRounding);
}

TEST(Weights, AreReadAndRefused) {
  const Weights weights = parseWeights({"AllReduce=10", "Broadcast=0"}, "--weight");
  EXPECT_EQ(weights.of[Collective::kAllReduce], 10);
  EXPECT_EQ(weights.of[Collective::kBroadcast], 0);
  EXPECT_EQ(weights.of[Collective::kReduce], 1);
  for (const char* bad : {"AllReduce", "AllReduce=", "AllReduce=-1", "AllReduce=x", "Alltoall=1", "=2"})
    EXPECT_THROW(parseWeights({bad}, "--weight"), InputError) << bad;
}

}  // namespace
}  // namespace xylem::optimum
