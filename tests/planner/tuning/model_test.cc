#include "planner/tuning/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "planner/tuning/example_jobs.h"
#include "planner/tuning/tuning_log.h"
#include "planner_support/rules.h"

namespace xylem::tuning {
namespace {

using enum Algorithm;
using enum Protocol;
using testing::modelOf;
using testing::oneNvlinkHost;
using testing::twoSmallHosts;
using testing::twoSwitchedHosts;

constexpr Collective kModelled = Collective::kAllReduce;

void expectModel(const TuningModel& model, Collective c, Algorithm a, Protocol p, float latency,
                 float bandwidth) {
  SCOPED_TRACE(std::string(name(c)) + " " + name(a) + "/" + name(p));
  EXPECT_NEAR(model.latency[c][a][p], latency, 1e-4 * latency);
  EXPECT_NEAR(model.bandwidth[c][a][p], bandwidth, 1e-3 * bandwidth);
}

TEST(TuningModel, TwoHostsByHand) {
  const TuningModel model = modelOf(twoSmallHosts());
  expectModel(model, kModelled, kRing, kSimple, 59.2f, 6.667f);
  expectModel(model, kModelled, kRing, kLl, 16.0f, 3.333f);
  expectModel(model, kModelled, kTree, kSimple, 44.4f, 3.22f);
  expectModel(model, kModelled, kTree, kLl, 18.8f, 0.847f);
  expectModel(model, Collective::kBroadcast, kRing, kLl, 9.3f, 5.0f);
  EXPECT_EQ(model.excluded[kModelled][kRing][kLl128], Exclusion::kLl128Distance);
}

TEST(TuningModel, OneHostByHand) {
  const TuningModel model = modelOf(oneNvlinkHost());
  EXPECT_NEAR(model.bandwidth[kModelled][kTree][kLl128], 40.0, 1e-3);
  EXPECT_NEAR(model.bandwidth[kModelled][kRing][kLl128], 49.07, 1e-2);
  EXPECT_NEAR(model.latency[Collective::kBroadcast][kRing][kSimple], 24.4, 1e-3);
}

TEST(TuningModel, SwitchedHostsByHand) {
  const TuningModel model = modelOf(twoSwitchedHosts());
  expectModel(model, kModelled, kNvlsTree, kSimple, 53.0f, 266.667f);
  EXPECT_NEAR(model.bandwidth[kModelled][kTree][kSimple], 140.76, 1e-2);
  EXPECT_NEAR(model.bandwidth[kModelled][kRing][kLl], 20.8, 1e-3);
}

TEST(TuningModel, OneHeadIsNoNvlsSince228) {
  const auto latency = [](const char* version, int heads) {
    TuningInput input = twoSwitchedHosts();
    input.rules = rules::rulesOf(rules::parseVersion(version).value());
    input.graphs[search::GraphKind::kNvls].nChannels = heads;
    return modelOf(input).latency[kModelled][kNvlsTree][kSimple];
  };
  EXPECT_GT(latency("2.27.7", 1), 0);
  EXPECT_GT(latency("2.28.9", 2), 0);
  EXPECT_EQ(latency("2.28.9", 1), 0);
}

// NCCL says it for each function and algorithm that it asks about.
TEST(TuningModel, Ll128WithinPxbIsSaid) {
  const auto said = [](bool overPxn, int sm) {
    TuningInput input = twoSwitchedHosts();
    rules::RuleSet rules = *input.rules;
    rules.ll128OverPxn = overPxn;
    input.rules = std::make_shared<const rules::RuleSet>(rules);
    input.lowestSm = sm;
    const std::vector<LogLine> lines = tuningLines(modelOf(input));
    return std::count_if(lines.begin(), lines.end(), [](const LogLine& line) {
      return line.text.starts_with("Disabling LL128 over all PxN connections");
    });
  };
  EXPECT_EQ(said(false, 90), 35);
  EXPECT_EQ(said(false, 80), 0);
  EXPECT_EQ(said(true, 90), 0);
}

TEST(TuningModel, CpusMatterToNetworkSteps) {
  TuningInput input = twoSmallHosts();
  const float intel = modelOf(input).latency[kModelled][kRing][kLl];
  input.vendor = topology::CpuVendor::kAmd;
  EXPECT_FLOAT_EQ(modelOf(input).latency[kModelled][kRing][kLl], intel + 4 * 1.0f);
  EXPECT_FLOAT_EQ(modelOf(input, {{"NCCL_NET_OVERHEAD", "3000"}}).latency[kModelled][kRing][kLl],
                  intel + 4 * 2.0f);
  // Only POWER has a slower tree over PCI.
  const float tree = modelOf(input).latency[kModelled][kTree][kSimple];
  input.arch = topology::CpuArch::kPower;
  EXPECT_FLOAT_EQ(modelOf(input).latency[kModelled][kTree][kSimple], tree + 2 * (5.7f - 4.0f));
}

TEST(TuningModel, LatencyOfNicsCountsTwiceWithSimple) {
  TuningInput input = twoSmallHosts();
  const TuningModel before = modelOf(input);
  input.graphs[search::GraphKind::kRing].latencyInter = 1.5f;
  const TuningModel after = modelOf(input);
  const auto grown = [&](Protocol p) {
    return after.latency[kModelled][kRing][p] - before.latency[kModelled][kRing][p];
  };
  EXPECT_NEAR(grown(kLl), 2 * 1.5, 1e-4);
  EXPECT_NEAR(grown(kSimple), 2 * 2 * 1.5, 1e-4);
}

TEST(TuningModel, ModelsPatWithOneRankPerNode) {
  TuningInput input = twoSmallHosts();
  constexpr Collective kGather = Collective::kAllGather;
  EXPECT_EQ(modelOf(input).excluded[kGather][kPat][kSimple], Exclusion::kPatUnfit);
  EXPECT_GT(modelOf(input, {{"NCCL_PAT_ENABLE", "1"}}).bandwidth[kGather][kPat][kSimple], 0);
  input.nodes = 4;
  input.maxLocalRanks = 1;
  expectModel(modelOf(input), kGather, kPat, kSimple, 8 + 2 * (14 / 3.5f) + 4 * 2.8f, 7 * 0.75f);
  EXPECT_EQ(modelOf(input, {{"NCCL_PAT_ENABLE", "0"}}).excluded[kGather][kPat][kSimple],
            Exclusion::kPatDisabled);
  EXPECT_EQ(modelOf(input).excluded[kModelled][kPat][kSimple], Exclusion::kNotOffered);
}

TEST(TuningModel, ARankAloneHasThreadsOnly) {
  TuningInput input = oneNvlinkHost();
  input.ranks = 1;
  const TuningModel model = modelOf(input);
  for (const Collective c : kAllCollectives)
    for (const Algorithm a : kAllAlgorithms)
      for (const Protocol p : kAllProtocols) EXPECT_EQ(model.excluded[c][a][p], Exclusion::kOneRank);
  EXPECT_EQ(model.maxThreads[kRing][kSimple], 512);
  EXPECT_EQ(model.threadThreshold[kRing][kLl], 0);
}

TEST(TuningModel, EveryZeroHasAReason) {
  for (const TuningInput& input :
       {twoSmallHosts(), oneNvlinkHost(), twoSwitchedHosts(), TuningInput{.rules = testing::rules225()}}) {
    const TuningModel model = modelOf(input);
    for (const Collective c : kAllCollectives)
      for (const Algorithm a : kAllAlgorithms)
        for (const Protocol p : kAllProtocols) {
          const Exclusion why = model.excluded[c][a][p];
          EXPECT_EQ(why == Exclusion::kNone, model.bandwidth[c][a][p] > 0);
          EXPECT_NE(explain({a, p, 0, why}, {.collective = c}, model), "");
        }
  }
}

TEST(TuningModel, Ll128NeedsEqualGpusOfCertainKindsNearTheirNics) {
  const auto why = [](const TuningInput& input, const std::map<std::string, std::string>& settings = {}) {
    return modelOf(input, settings).excluded[kModelled][kRing][kLl128];
  };
  TuningInput input = twoSwitchedHosts();
  EXPECT_EQ(why(input), Exclusion::kNone);
  TuningGraph& ring = input.graphs[search::GraphKind::kRing];
  ring.typeInter = paths::PathType::kPxn;
  EXPECT_EQ(why(input), Exclusion::kNone);
  ring.typeInter = paths::PathType::kPhb;
  EXPECT_EQ(why(input), Exclusion::kLl128NetDistance);
  EXPECT_EQ(why(input, {{"NCCL_PROTO", "LL128"}}), Exclusion::kNone);
  ring.typeInter = paths::PathType::kPxn;
  input.lowestSm = input.highestSm = 80;
  EXPECT_EQ(why(input), Exclusion::kLl128NetDistance);
  ring.typeInter = paths::PathType::kPxb;
  EXPECT_EQ(why(input), Exclusion::kNone);
  input.highestSm = 90;
  EXPECT_EQ(why(input), Exclusion::kLl128MixedGpus);
  input.lowestSm = input.highestSm = 86;
  EXPECT_EQ(why(input), Exclusion::kLl128Architecture);
}

TEST(Threads, WishesAreMadeSensible) {
  const auto threads = [](const char* wish) {
    return modelOf(oneNvlinkHost(), {{"NCCL_NTHREADS", wish}}).maxThreads[kRing][kSimple];
  };
  EXPECT_EQ(threads("-2"), 512);
  EXPECT_EQ(threads("0"), 512);
  EXPECT_EQ(threads("32"), 64);
  EXPECT_EQ(threads("128"), 128);
  EXPECT_EQ(threads("100"), 512);
  EXPECT_EQ(threads("1024"), 512);
  EXPECT_EQ(modelOf(oneNvlinkHost(), {{"NCCL_LL128_NTHREADS", "96"}}).maxThreads[kTree][kLl128], 160);
  // 10 GB/s in all: a slow ring needs fewer.
  EXPECT_EQ(modelOf(twoSmallHosts()).maxThreads[kRing][kSimple], 256);
}

TEST(Threads, ThresholdsCanBeSetOneByOne) {
  const TuningModel model = modelOf(oneNvlinkHost(), {{"NCCL_THREAD_THRESHOLDS", "-2 16 -2 5"}});
  EXPECT_EQ(model.threadThreshold[kTree], (ByProtocol<std::int64_t>{8, 16, 64}));
  EXPECT_EQ(model.threadThreshold[kRing], (ByProtocol<std::int64_t>{5, 8, 64}));
  EXPECT_EQ(modelOf(oneNvlinkHost()).threadThreshold[kRing], (ByProtocol<std::int64_t>{32, 8, 64}));
}

}  // namespace
}  // namespace xylem::tuning
