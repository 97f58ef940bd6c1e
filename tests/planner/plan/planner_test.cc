// Whole plans: properties that hold for every machine, and the public header of the planner.

#include "planner/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/connect/p2p.h"
#include "planner/connect/rings.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/plan_log.h"
#include "planner/search/shared_graphs.h"
#include "planner_support/any_machine.h"
#include "planner_support/machine_text.h"
#include "planner_support/rules.h"
#include "xylem/plan.h"

namespace xylem::plan {
namespace {

using namespace testing;  // NOLINT: the machines

Plan planOf(const std::string& text, int hosts) {
  return planJob(identicalHosts(topology::parseTopology(text, "test.xml"), hosts), Settings());
}

TEST(PlannerProperty, EveryRingVisitsEveryRankOnce) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = planOf(anyMachine(), *rc::gen::inRange(1, 5));
    RC_ASSERT(plan.connections.nChannels() >= 1);
    for (int channel = 0; channel < plan.connections.nChannels(); ++channel) {
      std::vector<int> ring = connect::ringOf(plan.connections, channel);
      RC_ASSERT(ring.front() == 0);
      std::sort(ring.begin(), ring.end());
      for (int rank = 0; rank < plan.job().ranks(); ++rank)
        RC_ASSERT(ring.at(static_cast<std::size_t>(rank)) == rank);
      RC_ASSERT(static_cast<int>(ring.size()) == plan.job().ranks());
    }
  }));
}

// One rank of a host may search for all: graphs survive being written and read.
TEST(PlannerProperty, WhatAnotherRankHasSearchedGivesTheSamePlan) {
  EXPECT_TRUE(rc::check([] {
    PlanRequest request =
        identicalHosts(topology::parseTopology(anyMachine(), "test.xml"), *rc::gen::inRange(1, 4));
    request.rules = *rc::gen::element(connect::Rules::kNccl, connect::Rules::kXylem);
    const Plan alone = planJob(request, Settings());
    const std::string bytes =
        search::writeGraphs(searchHost(request, request.hosts.front(), alone.job().ranks(), Settings()));
    request.hosts.front().searched =
        std::make_shared<const std::vector<search::HostGraphs>>(search::readGraphs(bytes));
    const Plan told = planJob(request, Settings());
    RC_ASSERT(toJson(told) == toJson(alone));
    RC_ASSERT(told.hostPlans.size() == alone.hostPlans.size());
    for (std::size_t view = 0; view < told.hostPlans.size(); ++view)
      RC_ASSERT(search::writeGraphs({told.hostPlans[view]->graphs}) ==
                search::writeGraphs({alone.hostPlans[view]->graphs}));
  }));
}

TEST(SharedGraphs, OfAnotherMachineAreRefused) {
  const auto host = [](int gpus) {
    std::string text;
    for (int g = 0; g < gpus; ++g) text += gpu(fmt::format("0000:{:02x}:00.0", 0x20 + g), g, 80, "");
    return identicalHosts(topology::parseTopology(machine(cpu(0, text)), "test.xml"));
  };
  PlanRequest four = host(4);
  const PlanRequest three = host(3);
  four.hosts.front().searched = std::make_shared<const std::vector<search::HostGraphs>>(
      searchHost(three, three.hosts.front(), 3, Settings()));
  EXPECT_THROW(planJob(four, Settings()), Error);
}

// Adds up the bandwidth that the ring channels of a host take from each link: never more than the link has. (Below
// compute capability 80 the search also counts acknowledgements, and rings through NICs leave the host: neither is added up here.)
TEST(PlannerProperty, RingsFitIntoTheLinks) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = planOf(anyMachine({.leastGpus = 2, .leastSm = 80}), 1);
    const HostPlan& host = plan.hostOf(0);
    const search::ChannelGraph& ring = host.ring();
    RC_PRE(!ring.fallback && !host.system().usesNets());
    std::vector<float> used(host.system().links().size(), 0.0f);
    for (int c = 0; c < ring.nChannels; ++c) {
      for (int i = 0; i < ring.gpuCount; ++i) {
        const topology::NodeId from = host.system().node(topology::NodeType::kGpu, ring.gpu(c, i));
        const topology::NodeId to =
            host.system().node(topology::NodeType::kGpu, ring.gpu(c, (i + 1) % ring.gpuCount));
        for (topology::LinkId link : host.paths.paths.links(from, to))
          used[static_cast<std::size_t>(link)] += ring.bwIntra;
      }
    }
    for (std::size_t link = 0; link < used.size(); ++link)
      RC_ASSERT(used[link] <= host.system().link(static_cast<topology::LinkId>(link)).bandwidth + 0.01f);
  }));
}

TEST(PlannerProperty, TheSameInputGivesTheSameBytes) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = anyMachine();
    const int hosts = *rc::gen::inRange(1, 4);
    RC_ASSERT(toJson(planOf(text, hosts)) == toJson(planOf(text, hosts)));
  }));
}

Plan planBy(const std::string& text, int hosts, std::shared_ptr<const rules::RuleSet> rules) {
  PlanRequest request = identicalHosts(topology::parseTopology(text, "test.xml"), hosts);
  request.offered = {.nvls = true, .collnet = hosts > 1};
  request.nccl = std::move(rules);
  return planJob(request, Settings());
}

// Holds for any version: every ring has every rank once, limits are kept, times are numbers, and the log is written.
void checkAnyPlan(const Plan& plan) {
  const connect::Connections& c = plan.connections;
  RC_ASSERT(c.nChannels() >= 1 && c.nChannels() <= 64);
  for (int channel = 0; channel < c.nChannels(); ++channel) {
    std::vector<int> ring = connect::ringOf(c, channel);
    std::sort(ring.begin(), ring.end());
    RC_ASSERT(static_cast<int>(ring.size()) == plan.job().ranks());
    for (int rank = 0; rank < plan.job().ranks(); ++rank)
      RC_ASSERT(ring[static_cast<std::size_t>(rank)] == rank);
  }
  RC_ASSERT(c.of(0).p2pChannels >= c.of(0).p2pChannelsPerPeer && c.of(0).p2pChannelsPerPeer >= 1);
  std::vector<int> sends(static_cast<std::size_t>(plan.job().ranks()));
  for (const connect::P2pRound& round : connect::p2pSchedule(c, 0))
    ++sends[static_cast<std::size_t>(round.sendTo)];
  for (const int count : sends) RC_ASSERT(count == 1);
  for (const tuning::TuningModel& model : plan.tuning)
    for (const auto& ofCollective : model.bandwidth)
      for (const auto& ofAlgorithm : ofCollective)
        for (const float bandwidth : ofAlgorithm) RC_ASSERT(bandwidth >= 0 && bandwidth < 1e6f);
  RC_ASSERT(!planLog(plan, 0).empty());
}

TEST(PlannerProperty, HoldsForEveryVersion) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = anyMachine();
    const int hosts = *rc::gen::inRange(1, 4);
    for (const rules::Version& version : rules::kKnownVersions)
      checkAnyPlan(planBy(text, hosts, rules::rulesOf(version)));
  }));
}

// A version is the one before it with all of its changes; and any of them can be switched on without the others.
TEST(PlannerProperty, ChangesCanBeSwitchedOnTogetherOrOneByOne) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = anyMachine();
    const int hosts = *rc::gen::inRange(1, 3);
    const rules::Version from = *rc::gen::elementOf(rules::kKnownVersions);
    const rules::Version to = *rc::gen::elementOf(rules::kKnownVersions);
    const auto changes = rules::changesBetween(from, to);
    plan::Json whole = toJson(planBy(text, hosts, rules::rulesOf(std::max(from, to))));
    plan::Json together = toJson(planBy(text, hosts, rules::rulesWith(from, changes)));
    for (plan::Json* json : {&whole, &together}) (*json)["input"].erase("nccl");
    RC_ASSERT(whole == together);
    const auto some = *rc::gen::container<std::vector<bool>>(changes.size(), rc::gen::arbitrary<bool>());
    std::vector<const rules::Change*> chosen;
    for (std::size_t i = 0; i < changes.size(); ++i)
      if (some[i]) chosen.push_back(changes[i]);
    checkAnyPlan(planBy(text, hosts, rules::rulesWith(from, chosen)));
  }));
}

// Two pairs of GPUs that reach each other over NVLink alone: no ring joins them, and NCCL takes them in their order. Until 2.28 it
// leaves and enters by the NIC that it calls 0; on a machine without such a number it has none.
TEST(Planner, ARingInPlainOrderLeavesByTheFirstNic) {
  const auto pairs = [](int dev) {
    std::string gpus;
    for (int g = 0; g < 4; ++g)
      gpus += gpu(fmt::format("0000:1{}:00.0", g + 1), g, 86,
                  nvlink(fmt::format("0000:1{}:00.0", (g ^ 1) + 1), 4));
    return machine(cpu(0, pciSwitch("0000:10:00.0", gpus + nic("0000:16:00.0", dev, 100000))));
  };
  const auto entry = [&](int dev, const char* version) {
    const Settings settings = Settings::fromPairs({{"NCCL_P2P_LEVEL", "NVL"}, {"XYLEM_NCCL", version}});
    const Plan plan = planJob(identicalHosts(topology::parseTopology(pairs(dev), "test.xml"), 2), settings);
    return toJson(plan)["connections"]["ranks"][0]["ringNetRecv"][0];
  };
  const Json first = entry(0, "2.25.1");
  EXPECT_EQ(first["net"], "NET/0-0") << first.dump();
  EXPECT_EQ(first["proxy"], 0);
  EXPECT_TRUE(entry(1, "2.25.1")["refused"]);
  EXPECT_EQ(entry(1, "2.30.7")["net"], "NET/0-1");
}

TEST(Planner, RefusesJobsItCannotNumber) {
  const topology::Document document = topology::parseTopology(twoGpusOneNic(), "test.xml");
  EXPECT_THROW(planJob(identicalHosts(document, 0), Settings()), Error);
  EXPECT_THROW(planJob(identicalHosts(document, 1 << 30), Settings()), Error);
  EXPECT_THROW(planJob(identicalHosts(topology::parseTopology(machine(cpu(0, "")), "empty.xml")), Settings()),
               InputError);
}

TEST(JobPlan, AnswersForPrograms) {
  const JobPlan plan =
      JobPlan::ofXml(twoGpusOneNic(), {.hosts = 2, .settings = {{"NCCL_MAX_NCHANNELS", "1"}}});
  EXPECT_EQ(plan.ranks(), 4);
  EXPECT_EQ(plan.nodes(), 2);
  EXPECT_EQ(plan.channels(), 1);
  EXPECT_EQ(plan.ring(0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_THROW(plan.ring(1), std::out_of_range);
  EXPECT_EQ(plan.ringGraph().pattern, "RING");
  EXPECT_EQ(plan.treeGraph().channels, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(nlohmann::json::parse(plan.json())["input"]["settings"]["NCCL_MAX_NCHANNELS"], "1");
  EXPECT_FALSE(plan.log().empty());
  EXPECT_EQ(plan.tree(0, 0).up, -1);
  EXPECT_EQ(plan.tree(0, 0).down, (std::vector<int>{1, 2}));
  EXPECT_THROW(plan.tree(4, 0), std::out_of_range);
  EXPECT_THROW(plan.tree(0, 1), std::out_of_range);
  const PlannedChoice small = plan.choice("AllReduce", 8);
  EXPECT_EQ(small.algorithm + "/" + small.protocol, "Ring/LL");
  EXPECT_NEAR(small.microseconds, 16, 0.1);
  ASSERT_GE(small.candidates.size(), 2u);
  EXPECT_EQ(small.candidates[0].microseconds, small.microseconds);
  EXPECT_LE(small.candidates[0].microseconds, small.candidates[1].microseconds);
  EXPECT_THROW(plan.choice("AllScatter", 8), PlanError);
}

TEST(JobPlan, SaysWhyNothingCanRun) {
  const auto refusal = [](const JobPlan& plan) -> std::string {
    try {
      plan.choice("AllReduce", 8);
    } catch (const PlanError& error) {
      return error.what();
    }
    return "";
  };
  const JobPlan noNic = JobPlan::ofFile(XYLEM_SOURCE_DIR "/topologies/dgx1v-4gpu-nonic.xml", {.hosts = 3});
  EXPECT_THAT(refusal(noNic),
              HasSubstr("nothing can run AllReduce: no channels with bandwidth were found for Tree"));
  EXPECT_THAT(refusal(noNic), HasSubstr("; no channels with bandwidth were found for Ring; "));
  EXPECT_EQ(noNic.ringGraph().typeInter, "DIS");
  EXPECT_THAT(refusal(JobPlan::ofXml(twoGpusOneNic(), {.settings = {{"NCCL_ALGO", "NVLS"}}})),
              HasSubstr("NCCL_ALGO=NVLS leaves out Ring"));
}

TEST(JobPlan, ThatWasMovedFromIsAnOrdinaryError) {
  JobPlan plan = JobPlan::ofXml(twoGpusOneNic());
  const JobPlan taken = std::move(plan);
  EXPECT_EQ(taken.ranks(), 2);
  EXPECT_THROW(plan.ranks(), PlanError);
  EXPECT_THROW(plan.json(), PlanError);
}

TEST(JobPlan, SaysWhatItAssumesAndWhatIsDoubtful) {
  std::string text =
      machine(cpu(0, gpu("0000:11:00.0", 0, 90, nvswitch(4)) + gpu("0000:12:00.0", 1, 90, nvswitch(4)) +
                         gpu("0000:13:00.0", 2, 90, nvswitch(4)) + nic("0000:31:00.0", 0, 100000) +
                         nic("0000:32:00.0", 1, 100000)));
  const JobPlan plan =
      JobPlan::ofXml(text, {.hosts = 2, .settings = {{"NCCL_IB_HCA", "mlx5_1"}}, .nccl = "2.24.3"});
  EXPECT_THAT(plan.assumptions(),
              ::testing::ElementsAre(::testing::HasSubstr("1 of 2 NICs, as NCCL_IB_HCA=mlx5_1"),
                                     ::testing::StartsWith("NVLS, as drivers offer it")));
  EXPECT_THAT(plan.warnings(),
              ::testing::ElementsAre(::testing::HasSubstr("NCCL 2.24.3 is planned by the rules of")));
  EXPECT_EQ(nlohmann::json::parse(plan.json())["assumed"].size(), 2u);
  EXPECT_TRUE(nlohmann::json::parse(plan.json())["job"].contains("nvls"));
  EXPECT_TRUE(JobPlan::ofXml(text, {.hosts = 2, .nvls = false}).assumptions().empty());
}

TEST(Planner, NvlsThatAVariableTakesForOfferedIsInTheJson) {
  const std::string text =
      machine(cpu(0, gpu("0000:11:00.0", 0, 90, nvswitch(4)) + gpu("0000:12:00.0", 1, 90, nvswitch(4)) +
                         gpu("0000:13:00.0", 2, 90, nvswitch(4))));
  const auto graphs = [&](const std::map<std::string, std::string>& settings) {
    const Settings all = Settings::fromPairs(settings);
    return toJson(planJob(identicalHosts(topology::parseTopology(text, "test.xml")), all))["host"]["graphs"];
  };
  EXPECT_TRUE(graphs({{"NCCL_NVLS_ENABLE", "1"}}).contains("nvls"));
  EXPECT_FALSE(graphs({}).contains("nvls"));
}

// By 2.25.1: the GPU of rank 0 counts, not the newest of the host.
TEST(Planner, NvlsChannelsFollowTheFirstRanksGpu) {
  const auto channels = [](int first, int others) {
    std::string gpus;
    for (int g = 0; g < 4; ++g)
      gpus += gpu(fmt::format("0000:1{}:00.0", g + 1), g, g == 0 ? first : others, nvswitch(4));
    PlanRequest request = identicalHosts(topology::parseTopology(machine(cpu(0, gpus)), "test.xml"));
    request.offered.nvls = true;
    return toJson(planJob(request, settings225()))["connections"]["nvlsChannels"];
  };
  EXPECT_EQ(channels(90, 100), 16);
  EXPECT_EQ(channels(100, 90), 32);
}

TEST(JobPlan, PlansHostsThatDiffer) {
  const std::string zoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";
  const JobPlan plan =
      JobPlan::ofHosts({{zoo + "dgxh100.xml", {0, 1, 2, 3}, 2}, {zoo + "dgxa100.xml", {}, 1}});
  EXPECT_EQ(plan.ranks(), 16);
  EXPECT_EQ(plan.nodes(), 3);
  EXPECT_THROW(JobPlan::ofHosts({{zoo + "dgxh100.xml", {0, 99}, 1}}), PlanError);
  EXPECT_THROW(JobPlan::ofHosts({}), PlanError);
}

TEST(JobPlan, SaysWhyAndWhatAChangeChanges) {
  using Settings = std::map<std::string, std::string>;
  const std::string machine = std::string(XYLEM_SOURCE_DIR) + "/topologies/seed-a40x2.xml";
  const auto plan = [&](const Settings& settings) {
    return JobPlan::ofFile(machine, {.hosts = 2, .settings = settings});
  };
  const auto answer = nlohmann::json::parse(plan({}).why({"gdr", "gpu0", "nic2"}));
  EXPECT_EQ(answer["format"], "xylem-why-1");
  EXPECT_EQ(answer["yes"], false);
  EXPECT_EQ(nlohmann::json::parse(plan({{"NCCL_NET_GDR_LEVEL", "SYS"}}).why({"gdr", "gpu0", "nic2"}))["yes"],
            true);
  EXPECT_THROW(plan({}).why({"gdr", "gpu9", "nic2"}), PlanError);
  EXPECT_THROW(plan({}).why({}), PlanError);

  const auto diff =
      nlohmann::json::parse(plan({}).diff(plan({{"NCCL_NET_GDR_LEVEL", "SYS"}}), "before", "after"));
  EXPECT_EQ(diff["format"], "xylem-diff-1");
  EXPECT_EQ(diff["samePlan"], false);
  EXPECT_EQ(diff["b"], "after");
  EXPECT_EQ(diff["asked"][0]["what"], "NCCL_NET_GDR_LEVEL");
  EXPECT_EQ(nlohmann::json::parse(plan({}).diff(plan({})))["samePlan"], true);
}

TEST(JobPlan, ReportsWhatIsWrongAndWhere) {
  try {
    JobPlan::ofXml("<system version=\"1\">\n<cpu numaid=\"0\"/>\n</system>");
    FAIL();
  } catch (const PlanError& error) {
    EXPECT_NE(std::string(error.what()).find(":2:"), std::string::npos) << error.what();
  }
  EXPECT_THROW(JobPlan::ofXml(twoGpusOneNic(), {.settings = {{"NCCL_NO_SUCH", "1"}}}), PlanError);
  EXPECT_THROW(JobPlan::ofFile("no/such/file.xml"), PlanError);
}

}  // namespace
}  // namespace xylem::plan
