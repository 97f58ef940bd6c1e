// Bounds and best channels, compared on small machines with an exhaustive search.
#include "insight/optimum/optimum.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "insight/optimum/built_graph.h"
#include "insight/optimum/exhaustive.h"
#include "planner/plan/planner.h"
#include "planner/search/graph_file.h"
#include "planner_support/any_machine.h"
#include "planner_support/machine_text.h"
#include "planner_support/rules.h"

namespace xylem::optimum {
namespace {

using namespace testing;  // NOLINT: the machines

constexpr double kSlack = 1e-3;

std::string zoo(const std::string& name) { return std::string(XYLEM_SOURCE_DIR) + "/topologies/" + name; }

plan::Plan planOfFile(const std::string& name, int hosts, const Settings& settings = Settings()) {
  return plan::planJob(plan::identicalHosts(topology::readTopology(zoo(name)), hosts), settings);
}

Optimum optimumOf(const plan::Plan& plan, const OptimumOptions& options = {}) {
  const plan::HostPlan& host = plan.hostOf(0);
  return findOptimum(host.system(), host.paths.paths, host.graphs, options);
}

Bound ringBound(const plan::Plan& plan) {
  return boundOf(plan.hostOf(0).system(), plan.hostOf(0).paths.paths, search::Pattern::kRing, 2);
}

TEST(Bound, OfPcieMachineIsTheCutBetweenItsSockets) {
  const plan::Plan plan = planOfFile("l40sx8-pcie.xml", 1);
  const Bound bound = ringBound(plan);
  EXPECT_NEAR(bound.bandwidth, 16, kSlack);
  EXPECT_TRUE(bound.cutIsTight);
  EXPECT_EQ(bound.cut.near.size(), 4u);
  EXPECT_EQ(bound.cut.far.size(), 4u);
  double sum = 0;
  for (const topology::LinkId link : bound.cut.links)
    sum += static_cast<double>(plan.hostOf(0).system().link(link).bandwidth);
  EXPECT_NEAR(sum, bound.cut.bandwidth, kSlack);
}

TEST(Bound, OfSwitchIsWhatAGpuSends) {
  const Bound bound = ringBound(planOfFile("dgxh100.xml", 1));
  EXPECT_NEAR(bound.program, 370.8, kSlack);  // 18 links; the PCI way out counts in the cut alone
  EXPECT_FALSE(bound.cutIsTight);
  // One GPU's way out proves it: a ring leaves every GPU once.
  ASSERT_FALSE(bound.bottlenecks.empty());
  double proof = 0;
  for (const Bottleneck& bottleneck : bound.bottlenecks) proof += bottleneck.weight * 370.8;
  EXPECT_NEAR(proof, bound.program, kSlack);
}

TEST(Bound, OfSeveralHostsIsWhatTheirNicsCarry) {
  const Bound bound = ringBound(planOfFile("dgxa100.xml", 2));
  EXPECT_NEAR(bound.bandwidth, 192, kSlack);
  EXPECT_TRUE(bound.cut.near.empty() || bound.cut.far.empty());  // GPUs on one side, the network on the other
}

TEST(Bound, OneGpuAloneHasNone) { EXPECT_EQ(ringBound(planOfFile("gpu1-nonic.xml", 1)).bandwidth, 0); }

TEST(Optimum, WinsWhereTheSpeedsOfTheSearchDoNotFit) {
  const Optimum best = optimumOf(planOfFile("l40sx8-pcie.xml", 1));
  EXPECT_NEAR(best.ring.found, 15, kSlack);
  EXPECT_NEAR(best.ring.best, 16, kSlack);
  EXPECT_TRUE(best.ring.improved);
}

TEST(Optimum, WinsWhereTheSearchFindsNothing) {
  const Optimum best = optimumOf(planOfFile("rand-067.xml", 1, testing::settings225()));
  EXPECT_NEAR(best.ring.found, 0.1, kSlack);
  EXPECT_NEAR(best.ring.best, 10, kSlack);
}

TEST(Optimum, KeepsGraphsThatCannotBeBetter) {
  const plan::Plan plan = planOfFile("dgxa100.xml", 2);
  const Optimum best = optimumOf(plan);
  EXPECT_FALSE(best.ring.improved);
  EXPECT_EQ(best.graphs[search::GraphKind::kRing].gpus, plan.hostOf(0).ring().gpus);
}

TEST(Optimum, KeepsToTheChannelsAllowed) {
  const Optimum best = optimumOf(planOfFile("dgx1v-5gpu.xml", 1), {2, 4});
  EXPECT_LE(best.graphs[search::GraphKind::kRing].nChannels, 4);
  EXPECT_GE(best.ring.best, best.ring.found);
}

TEST(Optimum, RingsThatCrossNicsComeInPairs) {
  const Optimum best = optimumOf(planOfFile("l40sx8-pcie.xml", 2));
  const search::ChannelGraph& ring = best.graphs[search::GraphKind::kRing];
  ASSERT_EQ(ring.crossNic, 2);
  for (int c = 0; c + 1 < ring.nChannels; c += 2) {
    EXPECT_EQ(ring.startNet(c), ring.endNet(c + 1));
    EXPECT_EQ(ring.endNet(c), ring.startNet(c + 1));
  }
}

TEST(Optimum, WithoutCrossNicRingsReturnToTheirPort) {
  const plan::Plan plan = planOfFile("dgxa100-7gpu.xml", 2);
  const Optimum best = optimumOf(plan, {0, 32});
  const search::ChannelGraph& ring = best.graphs[search::GraphKind::kRing];
  EXPECT_LE(best.ring.best, best.ring.bound.bandwidth * (1 + kSlack) + best.ring.found);
  for (int c = 0; best.ring.improved && c < ring.nChannels; ++c) EXPECT_EQ(ring.startNet(c), ring.endNet(c));
}

// Checks properties that every optimum has.
void check(const plan::Plan& plan, const plan::PlanRequest& request) {
  const plan::HostPlan& host = plan.hostOf(0);
  const Optimum best = optimumOf(plan);
  for (const search::GraphKind kind : {search::GraphKind::kRing, search::GraphKind::kTree}) {
    const GraphOptimum& o = kind == search::GraphKind::kRing ? best.ring : best.tree;
    const search::ChannelGraph& graph = best.graphs[kind];
    if (o.bound.bandwidth == 0) continue;
    RC_ASSERT(o.found <= o.bound.bandwidth * (1 + kSlack) + 0.01);
    RC_ASSERT(o.best >= o.found);
    RC_ASSERT(o.best <= o.ceiling * (1 + kSlack) + 0.01);
    RC_ASSERT(o.ceiling <= std::max(o.bound.bandwidth, o.found) * (1 + kSlack));
    if (o.improved) RC_ASSERT(isAccepted(graph, host.system(), host.paths.paths));
  }
  // Without a NIC, channels that stand in have no way to one: no file can say so.
  if (best.graphs[search::GraphKind::kRing].typeInter == paths::PathType::kDis) return;
  plan::PlanRequest again = request;
  again.graphFile = std::make_shared<const search::GraphFile>(
      search::parseGraphFile(search::writeGraphFile(best.graphs, host.system()), "graph.xml"));
  const plan::Plan loaded = plan::planJob(again, Settings());
  const search::ChannelGraph& ring = loaded.hostOf(0).ring();
  RC_ASSERT(ring.gpus == best.graphs[search::GraphKind::kRing].gpus);
  RC_ASSERT(ring.nChannels == best.graphs[search::GraphKind::kRing].nChannels);
}

TEST(Optimum, IsNoWorseThanTheSearchAndLoads) {
  EXPECT_TRUE(rc::check([] {
    const int hosts = *rc::gen::inRange(1, 3);
    const plan::PlanRequest request =
        plan::identicalHosts(topology::parseTopology(anyMachine(), "test.xml"), hosts);
    const plan::Plan plan = plan::planJob(request, Settings());
    if (plan.hostPlans.size() != 1) return;  // several domains
    check(plan, request);
  }));
}

// Compares with all sets of few channels: the best set is found, and no set exceeds the bound.
TEST(Optimum, IsWhatTryingAllFinds) {
  EXPECT_TRUE(rc::check([] {
    const plan::Plan plan =
        plan::planJob(plan::identicalHosts(topology::parseTopology(anyMachine(), "test.xml"), 1), Settings());
    const plan::HostPlan& host = plan.hostOf(0);
    const topology::System& system = host.system();
    if (plan.hostPlans.size() != 1 || system.count(topology::NodeType::kGpu) < 2 ||
        system.count(topology::NodeType::kGpu) > 5 || system.count(topology::NodeType::kNet) > 0)
      return;
    const int most = system.count(topology::NodeType::kGpu) > 4 ? 3 : 4;
    const paths::Locality locality(system, host.paths.paths);
    const search::SearchSpace space(system, host.paths.paths, locality);
    const std::vector<LinkLoad> all = allChannels(space, true);
    constexpr double kFastest = 40;
    double best = 0;
    for (int channels = 1; channels <= most; ++channels)
      best = std::max(best, bestTogether(space, all, channels, kFastest));
    HostProgram program(space, {}, {search::Pattern::kRing, 2, false});
    const EqualChannels::Result found =
        EqualChannels(program).run({1, most, kFastest, best / 2, std::int64_t{1} << 40});
    const double bound = boundOf(system, host.paths.paths, search::Pattern::kRing, 2).bandwidth;
    RC_ASSERT(best <= bound * (1 + kSlack));
    if (best == 0) return;
    RC_ASSERT(!found.sets.empty());
    RC_ASSERT(found.sets.front().total() <= best * (1 + kSlack));
    RC_ASSERT(found.sets.front().total() >= best * (1 - 2 * kSlack));
    RC_ASSERT(found.ceiling >= best * (1 - kSlack));
  }));
}

}  // namespace
}  // namespace xylem::optimum
