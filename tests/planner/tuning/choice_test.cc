#include "planner/tuning/choice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/tuning/example_jobs.h"

namespace xylem::tuning {
namespace {

using testing::modelOf;
using testing::oneNvlinkHost;
using testing::twoSmallHosts;
using testing::twoSwitchedHosts;

Exclusion whyNot(const Choice& choice, Algorithm algorithm, Protocol protocol = Protocol::kSimple) {
  for (const Candidate& candidate : choice.ranking)
    if (candidate.algorithm == algorithm && candidate.protocol == protocol) return candidate.excluded;
  return Exclusion::kNone;
}

TEST(Choice, TwoHostsByHand) {
  const TuningModel model = modelOf(twoSmallHosts());
  const Choice large = choose(model, {.bytes = 2 << 20});
  ASSERT_NE(large.best(), nullptr);
  EXPECT_EQ(large.best()->algorithm, Algorithm::kRing);
  EXPECT_EQ(large.best()->protocol, Protocol::kSimple);
  EXPECT_NEAR(large.best()->time, 427.05, 0.01);
  EXPECT_EQ(large.channels, 2);
  EXPECT_EQ(large.warps, 9);

  const Choice small = choose(model, {.bytes = 8});
  EXPECT_EQ(small.best()->protocol, Protocol::kLl);
  EXPECT_NEAR(small.best()->time, 16.002, 1e-3);
  EXPECT_EQ(small.channels, 1);
  EXPECT_EQ(small.warps, 3);
  EXPECT_EQ(small.runnerUp()->algorithm, Algorithm::kTree);
}

TEST(Choice, RanksEveryCandidateOnce) {
  for (const TuningInput& input : {twoSmallHosts(), oneNvlinkHost(), twoSwitchedHosts()}) {
    const TuningModel model = modelOf(input);
    for (const Collective collective : kAllCollectives) {
      const Choice choice = choose(model, {.collective = collective, .bytes = 1 << 20});
      EXPECT_EQ(choice.ranking.size(), kAllAlgorithms.size() * kAllProtocols.size());
      for (std::size_t i = 0; i < choice.ranking.size(); ++i) {
        const bool usable = i < static_cast<std::size_t>(choice.usable);
        EXPECT_EQ(choice.ranking[i].excluded == Exclusion::kNone, usable);
        if (usable && i > 0) {
          EXPECT_LE(choice.ranking[i - 1].time, choice.ranking[i].time);
        }
      }
    }
  }
}

TEST(Choice, SaysWhyOthersDoNotRun) {
  TuningInput input = twoSwitchedHosts();
  const TuningModel two = modelOf(input);
  EXPECT_EQ(whyNot(choose(two, {.bytes = 8}), Algorithm::kNvls), Exclusion::kNoCollnet);
  EXPECT_EQ(whyNot(choose(two, {.bytes = 8}), Algorithm::kNvlsTree), Exclusion::kNone);
  input.nodes = 1;
  const TuningModel one = modelOf(input);
  const Choice choice = choose(one, {.bytes = 8});
  EXPECT_EQ(whyNot(choice, Algorithm::kNvlsTree), Exclusion::kOneNode);
  EXPECT_EQ(explain({Algorithm::kNvlsTree, Protocol::kSimple, 0, Exclusion::kOneNode}, {}, one),
            "NVLSTree needs more than one node");
  EXPECT_EQ(whyNot(choice, Algorithm::kNvls, Protocol::kLl), Exclusion::kSimpleOnly);
}

TEST(Choice, LeavesOutWhatTheExecutorDoesNotHave) {
  TuningModel model = modelOf(twoSwitchedHosts());
  model.excluded[Collective::kAllReduce][Algorithm::kCollnetDirect][Protocol::kSimple] = Exclusion::kNone;
  model.bandwidth[Collective::kAllReduce][Algorithm::kCollnetDirect][Protocol::kSimple] = 1000;
  Operation operation{.bytes = 1 << 20};
  EXPECT_EQ(choose(model, operation).best()->algorithm, Algorithm::kCollnetDirect);
  operation.collnetDirect = false;
  const Choice choice = choose(model, operation);
  EXPECT_NE(choice.best()->algorithm, Algorithm::kCollnetDirect);
  EXPECT_EQ(whyNot(choice, Algorithm::kCollnetDirect), Exclusion::kNoProgram);
  EXPECT_EQ(
      explain({Algorithm::kCollnetDirect, Protocol::kSimple, 0, Exclusion::kNoProgram}, operation, model),
      "Xylem does not run CollNetDirect, only plans it");
}

TEST(Choice, NothingLeftIsNoChoice) {
  const TuningModel model = modelOf(twoSmallHosts(), {{"NCCL_ALGO", "Tree"}});
  const Choice choice = choose(model, {.collective = Collective::kBroadcast, .bytes = 8});
  EXPECT_EQ(choice.best(), nullptr);
  EXPECT_EQ(choice.runnerUp(), nullptr);
  EXPECT_EQ(whyNot(choice, Algorithm::kRing), Exclusion::kAlgorithmList);
}

TEST(Choice, ARankAloneCopies) {
  TuningInput input = oneNvlinkHost();
  input.ranks = input.maxLocalRanks = 1;
  const Choice choice = choose(modelOf(input), {.bytes = 1 << 20});
  EXPECT_EQ(choice.best()->algorithm, Algorithm::kRing);
  EXPECT_EQ(choice.best()->protocol, Protocol::kSimple);
  EXPECT_EQ(choice.best()->time, 0);
  EXPECT_EQ(choice.usable, 1);
  EXPECT_EQ(choice.channels, input.nChannels);
}

TEST(Choice, MulticastReducesOnlySomeTypes) {
  const TuningModel model = modelOf(twoSwitchedHosts());
  const auto why = [&](DataType type, ReduceOp op, bool scaled = false) {
    return whyNot(choose(model, {.bytes = 1 << 20, .type = type, .reduction = op, .scaled = scaled}),
                  Algorithm::kNvlsTree);
  };
  EXPECT_EQ(why(DataType::kFloat32, ReduceOp::kSum), Exclusion::kNone);
  EXPECT_EQ(why(DataType::kFloat32, ReduceOp::kMax), Exclusion::kNvlsOperands);
  EXPECT_EQ(why(DataType::kBfloat16, ReduceOp::kMax), Exclusion::kNone);
  EXPECT_EQ(why(DataType::kInt8, ReduceOp::kSum), Exclusion::kNvlsOperands);
  EXPECT_EQ(why(DataType::kInt32, ReduceOp::kProd), Exclusion::kNvlsOperands);
  EXPECT_EQ(why(DataType::kFloat16, ReduceOp::kSum, true), Exclusion::kNvlsOperands);
}

TEST(Choice, NvlsGathersOnOneNodeOfFewRanks) {
  TuningInput input = twoSwitchedHosts();
  input.nodes = 1;
  const Operation gather{.collective = Collective::kAllGather, .bytes = 1 << 20, .type = DataType::kInt8};
  EXPECT_EQ(whyNot(choose(modelOf(input), gather), Algorithm::kNvls), Exclusion::kNone);
  input.ranks = 36;
  EXPECT_EQ(whyNot(choose(modelOf(input), gather), Algorithm::kNvls), Exclusion::kNvlsSpread);
}

TEST(Choice, PatCannotScaleWhileItScatters) {
  TuningInput input = twoSmallHosts();
  input.nodes = 4;
  input.maxLocalRanks = 1;
  const TuningModel model = modelOf(input);
  const auto why = [&](Collective collective, ReduceOp op) {
    return whyNot(choose(model, {.collective = collective, .bytes = 64, .reduction = op}), Algorithm::kPat);
  };
  EXPECT_EQ(why(Collective::kReduceScatter, ReduceOp::kSum), Exclusion::kNone);
  EXPECT_EQ(why(Collective::kReduceScatter, ReduceOp::kAvg), Exclusion::kPatScaling);
  EXPECT_EQ(why(Collective::kAllGather, ReduceOp::kAvg), Exclusion::kNone);
}

TEST(Choice, LongRingsAreNotForSmallFloats) {
  const TuningModel model = modelOf(twoSwitchedHosts());
  const auto time = [&](Collective collective, DataType type) {
    return predictedTime(model, {.collective = collective, .bytes = 1 << 20, .type = type}, Algorithm::kRing,
                         Protocol::kSimple);
  };
  EXPECT_FLOAT_EQ(time(Collective::kReduce, DataType::kFloat8e4m3),
                  1024 * time(Collective::kReduce, DataType::kFloat16));
  // Data that is only moved keeps its precision.
  EXPECT_FLOAT_EQ(time(Collective::kAllGather, DataType::kFloat8e4m3),
                  time(Collective::kAllGather, DataType::kFloat16));
}

TEST(Choice, AggregatedOperationsStartAgainInRings) {
  const TuningModel model = modelOf(twoSmallHosts());  // two channels
  const auto time = [&](Algorithm algorithm, int operations) {
    return predictedTime(model, {.bytes = 8, .aggregated = operations}, algorithm, Protocol::kLl);
  };
  const float ring = model.latency[Collective::kAllReduce][Algorithm::kRing][Protocol::kLl];
  const float tree = model.latency[Collective::kAllReduce][Algorithm::kTree][Protocol::kLl];
  EXPECT_NEAR(time(Algorithm::kRing, 2), time(Algorithm::kRing, 1), 1e-4);
  EXPECT_NEAR(time(Algorithm::kRing, 6) - time(Algorithm::kRing, 2), 2 * ring, 1e-3);
  EXPECT_NEAR(time(Algorithm::kTree, 20), time(Algorithm::kTree, 1), 1e-4);
  EXPECT_NEAR(time(Algorithm::kTree, 22) - time(Algorithm::kTree, 20), tree, 1e-3);
}

TEST(Choice, EightOperationsStartTogetherSince230) {
  const auto starts = [](const char* version, int operations) {
    TuningInput input = twoSmallHosts();  // two channels
    input.rules = rules::rulesOf(rules::parseVersion(version).value());
    const TuningModel model = modelOf(input);
    const auto time = [&](int n) {
      return predictedTime(model, {.bytes = 8, .aggregated = n}, Algorithm::kTree, Protocol::kLl);
    };
    return 1 + std::lround((time(operations) - time(1)) /
                           model.latency[Collective::kAllReduce][Algorithm::kTree][Protocol::kLl]);
  };
  EXPECT_EQ(starts("2.29.7", 18), 1);
  EXPECT_EQ(starts("2.30.7", 16), 1);
  EXPECT_EQ(starts("2.30.7", 18), 2);
}

TEST(BusBandwidth, IsWhatALinkCarries) {
  EXPECT_DOUBLE_EQ(busBandwidth(Collective::kAllReduce, 4, 1000000, 1000), 1.5);
  EXPECT_DOUBLE_EQ(busBandwidth(Collective::kAllGather, 4, 1000000, 1000), 0.75);
  EXPECT_DOUBLE_EQ(busBandwidth(Collective::kBroadcast, 4, 1000000, 1000), 1.0);
  EXPECT_EQ(busBandwidth(Collective::kBroadcast, 1, 1000000, 0), 0);
}

}  // namespace
}  // namespace xylem::tuning
