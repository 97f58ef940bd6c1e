// The model of host devices: its variable, how its predictions move, and what it chooses.
#include "planner/tuning/host_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "planner/tuning/example_jobs.h"

namespace xylem::tuning {
namespace {

using enum Protocol;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::modelOf;

constexpr Collective kReduceAll = Collective::kAllReduce;

TuningInput hostJob(int ranks, int nodes = 1) {
  TuningInput input{
      .rules = rules::newestRules(), .ranks = ranks, .nodes = nodes, .maxLocalRanks = ranks / nodes};
  input.hostDevices = true;
  input.nChannels = 1;
  input.graphs[search::GraphKind::kRing].nChannels = 1;
  input.graphs[search::GraphKind::kTree].nChannels = 1;
  return input;
}

std::string whyNot(const std::string& text) {
  try {
    HostModel::parse(text, "environment: XYLEM_HOST_MODEL");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(HostModelText, ChangesWhatItNamesAndKeepsTheRest) {
  const HostModel model = HostModel::parse("ll.hop=0.5,net.bw=12.5", "test");
  EXPECT_FLOAT_EQ(model.hop[kLl], 0.5f);
  EXPECT_FLOAT_EQ(model.netBandwidth, 12.5f);
  EXPECT_EQ(model.launch, HostModel().launch);
  EXPECT_EQ(HostModel::parse("", "test").text(), HostModel().text());
}

TEST(HostModelText, IsReadBack) {
  const HostModel model = HostModel::parse("launch=1.5,ll.hop=0.1,ll128.bw=1e3,net.hop=44", "test");
  EXPECT_EQ(HostModel::parse(model.text(), "test").text(), model.text());
}

TEST(HostModelText, SaysWhatIsWrong) {
  EXPECT_THAT(whyNot("ll.hop"),
              AllOf(HasSubstr("XYLEM_HOST_MODEL"), HasSubstr("`ll.hop`"), HasSubstr("NAME=NUMBER")));
  EXPECT_THAT(whyNot("launch=1,hop.ll=2"), AllOf(HasSubstr("`hop.ll=2`"), HasSubstr("simple.bw")));
  for (const char* wrong : {"launch=", "launch=x", "launch=1us", "launch=0", "launch=-1", "launch=nan",
                            "launch=1e7", "launch= 1", "launch=1,", "=1", ","})
    EXPECT_THAT(whyNot(wrong), HasSubstr("expected")) << wrong;
  for (const char* number : {"launch=x", "launch=0", "launch=nan"})
    EXPECT_THAT(whyNot(number), HasSubstr("a number above 0")) << number;
}

TEST(HostModelText, IsAVariable) {
  const TuningModel model = modelOf(hostJob(2), {{"XYLEM_HOST_MODEL", "launch=1,ll.hop=2"}});
  EXPECT_FLOAT_EQ(model.latency[kReduceAll][Algorithm::kRing][kLl], 1 + 2 * 2);
  EXPECT_THROW(modelOf(hostJob(2), {{"XYLEM_HOST_MODEL", "launch=fast"}}), InputError);
}

TEST(HostModelPredictions, TwoRanksByHand) {
  const HostModel m = HostModel::parse("launch=1,ll.hop=2,ll.bw=4,simple.bw=12,net.hop=10,net.bw=3", "test");
  const TuningInput within = hostJob(2);
  EXPECT_FLOAT_EQ(hostLatency(within, m, kReduceAll, Algorithm::kRing, kLl), 5);
  EXPECT_FLOAT_EQ(hostBandwidth(within, m, kReduceAll, Algorithm::kRing, kLl), 4);
  EXPECT_FLOAT_EQ(hostLatency(within, m, Collective::kAllGather, Algorithm::kRing, kLl), 3);
  EXPECT_FLOAT_EQ(hostBandwidth(within, m, Collective::kAllGather, Algorithm::kRing, kLl), 8);
  const TuningInput between = hostJob(2, 2);
  EXPECT_FLOAT_EQ(hostLatency(between, m, kReduceAll, Algorithm::kRing, kLl), 11);  // an exchange
  EXPECT_FLOAT_EQ(hostLatency(between, m, kReduceAll, Algorithm::kTree, kLl), 21);
  EXPECT_FLOAT_EQ(hostBandwidth(between, m, kReduceAll, Algorithm::kRing, kSimple), 3);
  // LL takes as much longer than Simple between hosts as it does inside one.
  EXPECT_FLOAT_EQ(hostBandwidth(between, m, kReduceAll, Algorithm::kRing, kLl), 2);
}

TEST(HostModelPredictions, NothingGetsFasterWithMoreRanksHostsOrBytes) {
  const HostModel m;
  for (const Collective c : kAllCollectives)
    for (const Protocol p : kAllProtocols) {
      SCOPED_TRACE(std::string(name(c)) + " " + name(p));
      float before = 0;
      for (const int ranks : {2, 3, 4, 8, 16, 64, 256}) {
        const float latency = hostLatency(hostJob(ranks), m, c, Algorithm::kRing, p);
        EXPECT_GT(latency, before) << ranks;
        EXPECT_GT(hostLatency(hostJob(ranks, ranks), m, c, Algorithm::kRing, p), latency) << ranks;
        EXPECT_LE(hostBandwidth(hostJob(ranks, ranks), m, c, Algorithm::kRing, p),
                  hostBandwidth(hostJob(ranks), m, c, Algorithm::kRing, p));
        before = latency;
      }
      const TuningModel model = modelOf(hostJob(4));
      float time = 0;
      for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 33; bytes *= 2) {
        const float longer = predictedTime(model, {.collective = c, .bytes = bytes}, Algorithm::kRing, p);
        EXPECT_GT(longer, time);
        time = longer;
      }
    }
}

TEST(HostModelPredictions, EveryConstantMatters) {
  const auto sum = [](const HostModel& m) {
    double all = 0;
    for (const int nodes : {1, 2})
      for (const Protocol p : kAllProtocols)
        all += hostLatency(hostJob(4, nodes), m, kReduceAll, Algorithm::kRing, p) +
               1 / hostBandwidth(hostJob(4, nodes), m, kReduceAll, Algorithm::kRing, p);
    return all;
  };
  HostModel model;
  const double usual = sum(model);
  for (const HostConstant& constant : constantsOf(model)) {
    const float kept = *constant.value;
    const bool time = std::string_view(constant.unit) == "us";
    *constant.value = kept * (time ? 3 : 1.0f / 3);
    EXPECT_GT(sum(model), usual) << constant.name;
    *constant.value = kept;
  }
}

// With growing sizes the choice goes from LL over LL128 to Simple and never back.
TEST(HostModelChoices, GoFromShortStepsToWideOnes) {
  for (const int ranks : {2, 4, 8}) {
    const TuningModel model = modelOf(hostJob(ranks), {{"NCCL_ALGO", "Ring"}});
    Protocol last = choose(model, {.bytes = 8}).best()->protocol;
    EXPECT_NE(last, kSimple);
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 33; bytes *= 2) {
      const Protocol now = choose(model, {.bytes = bytes}).best()->protocol;
      EXPECT_GE(static_cast<int>(now), static_cast<int>(last)) << bytes;
      last = now;
    }
    EXPECT_EQ(last, kSimple);
  }
}

TEST(HostModelChoices, FollowTheConstants) {
  const auto chosen = [](const char* constants, std::uint64_t bytes) {
    const TuningModel model = modelOf(hostJob(2), {{"NCCL_ALGO", "Ring"}, {"XYLEM_HOST_MODEL", constants}});
    return choose(model, {.bytes = bytes}).best()->protocol;
  };
  constexpr const char* kUsual = "ll.hop=0.1,ll128.hop=0.2,simple.hop=0.4,ll.bw=1,ll128.bw=2,simple.bw=8";
  EXPECT_EQ(chosen(kUsual, 8), kLl);
  EXPECT_EQ(chosen(kUsual, 420), kLl128);  // LL128 from 400 bytes on, Simple from 1067 on
  EXPECT_EQ(chosen(kUsual, 2048), kSimple);
  EXPECT_EQ(chosen("ll.hop=1,ll128.hop=0.2,simple.hop=1", 8), kLl128);
  EXPECT_EQ(chosen("ll.hop=1,ll128.hop=1,simple.hop=0.1", 8), kSimple);
}

// Over the network all protocols have the same latency, but Simple has the longest steps and copies least.
TEST(HostModelChoices, SimpleWhereEveryStepGoesOverTheNetwork) {
  for (const int ranks : {2, 3, 8}) {
    const TuningModel model = modelOf(hostJob(ranks, ranks), {{"NCCL_ALGO", "Ring"}});
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 30; bytes *= 2)
      EXPECT_EQ(choose(model, {.bytes = bytes}).best()->protocol, kSimple) << bytes;
  }
}

TEST(HostModelChoices, TreesOnManyHostsForSmallMessages) {
  const TuningModel model = modelOf(hostJob(64, 64));
  EXPECT_EQ(choose(model, {.bytes = 8}).best()->algorithm, Algorithm::kTree);
  EXPECT_EQ(choose(model, {.bytes = std::uint64_t{1} << 30}).best()->algorithm, Algorithm::kRing);
}

}  // namespace
}  // namespace xylem::tuning
