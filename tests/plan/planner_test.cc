// Whole plans: properties that hold for every machine, and the public face of the planner.

#include "plan/planner.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "connect/rings.h"
#include "plan/plan_json.h"
#include "planner_support/any_machine.h"
#include "planner_support/machine_text.h"
#include "xylem/plan.h"

namespace xylem {
namespace {

using namespace testing;  // NOLINT: the machines

Plan planOf(const std::string& text, int hosts) {
  return planJob(identicalHosts(parseTopology(text, "test.xml"), hosts), Settings());
}

TEST(PlannerProperty, EveryRingVisitsEveryRankOnce) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = planOf(anyMachine(), *rc::gen::inRange(1, 5));
    RC_ASSERT(plan.connections.nChannels() >= 1);
    for (int channel = 0; channel < plan.connections.nChannels(); ++channel) {
      std::vector<int> ring = ringOf(plan.connections, channel);
      RC_ASSERT(ring.front() == 0);
      std::sort(ring.begin(), ring.end());
      for (int rank = 0; rank < plan.job().ranks(); ++rank)
        RC_ASSERT(ring.at(static_cast<std::size_t>(rank)) == rank);
      RC_ASSERT(static_cast<int>(ring.size()) == plan.job().ranks());
    }
  }));
}

// A naive account of what the ring channels of a host take from each link: never more than it has.
TEST(PlannerProperty, RingsFitIntoTheLinks) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = planOf(anyMachine(), 1);
    const HostPlan& host = plan.hostOf(0);
    const ChannelGraph& ring = host.ring();
    RC_PRE(!ring.fallback && ring.gpuCount > 1 && plan.connections.lowestSm >= 80 &&
           host.system().count(NodeType::kNet) == 0);
    std::vector<float> used(host.system().links().size(), 0.0f);
    for (int c = 0; c < ring.nChannels; ++c) {
      for (int i = 0; i < ring.gpuCount; ++i) {
        const NodeId from = host.system().node(NodeType::kGpu, ring.gpu(c, i));
        const NodeId to = host.system().node(NodeType::kGpu, ring.gpu(c, (i + 1) % ring.gpuCount));
        for (LinkId link : host.paths.paths.links(from, to))
          used[static_cast<std::size_t>(link)] += ring.bwIntra;
      }
    }
    for (std::size_t link = 0; link < used.size(); ++link)
      RC_ASSERT(used[link] <= host.system().link(static_cast<LinkId>(link)).bandwidth + 0.01f);
  }));
}

TEST(PlannerProperty, TheSameInputGivesTheSameBytes) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = anyMachine();
    const int hosts = *rc::gen::inRange(1, 4);
    RC_ASSERT(planToJson(planOf(text, hosts)) == planToJson(planOf(text, hosts)));
  }));
}

TEST(Planner, RefusesJobsItCannotNumber) {
  const Document document = parseTopology(twoGpusOneNic(), "test.xml");
  EXPECT_THROW(planJob(identicalHosts(document, 0), Settings()), Error);
  EXPECT_THROW(planJob(identicalHosts(document, 1 << 30), Settings()), Error);
  EXPECT_THROW(planJob(identicalHosts(parseTopology(machine(cpu(0, "")), "empty.xml")), Settings()),
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
  EXPECT_THROW(plan.choice("AllScatter", 8), PlanError);
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
}  // namespace xylem
