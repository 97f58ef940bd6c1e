// Fitting times that a model predicted finds the constants of the model again.
#include "planner/tuning/host_fit.h"

#include <gtest/gtest.h>

#include <random>

namespace xylem::tuning {
namespace {

// Returns the times that two ranks would take if the model were exact.
std::vector<HostSample> timesOf(double launch, double hop, double bandwidth, int steps = 2) {
  std::vector<HostSample> samples;
  for (double bytes = 8; bytes <= 16 << 20; bytes *= 2)
    samples.push_back({bytes, launch + steps * hop + bytes / (1000 * bandwidth)});
  return samples;
}

HostModel truth() {
  return HostModel::parse(
      "launch=0.4,ll.hop=0.15,ll.bw=1.5,ll128.hop=0.3,ll128.bw=3.5,simple.hop=0.9,simple.bw=7,net.hop=11,net."
      "bw=1.8",
      "test");
}

HostRound roundOf(const HostModel& m) {
  HostRound round;
  round.launch = m.launch;
  for (const Protocol p : kAllProtocols) round.protocols[p] = timesOf(m.launch, m.hop[p], m.bandwidth[p]);
  round.net = timesOf(m.launch, m.netHop, m.netBandwidth, 1);
  return round;
}

void expectNear(HostModel found, HostModel expected, float tolerance) {
  const auto f = constantsOf(found), e = constantsOf(expected);
  for (std::size_t i = 0; i < f.size(); ++i)
    EXPECT_NEAR(*f[i].value, *e[i].value, tolerance * *e[i].value) << f[i].name;
}

void forEachTime(HostRound& round, const auto& change) {
  change(round.launch);
  for (const Protocol p : kAllProtocols)
    for (HostSample& sample : round.protocols[p]) change(sample.microseconds);
  for (HostSample& sample : round.net) change(sample.microseconds);
}

TEST(FitLine, GoesThroughSamplesOfALine) {
  const Line line = fitLine(timesOf(1, 2, 4));
  EXPECT_NEAR(line.start, 5, 1e-9);
  EXPECT_NEAR(line.perByte, 0.00025, 1e-12);
}

TEST(FitLine, IgnoresAFewDisturbedSizes) {
  std::vector<HostSample> samples = timesOf(1, 2, 4);
  samples[1].microseconds *= 40;
  samples[9].microseconds *= 3;
  samples[20].microseconds *= 10;
  const Line line = fitLine(samples);
  EXPECT_NEAR(line.start, 5, 1e-9);
  EXPECT_NEAR(line.perByte, 0.00025, 1e-12);
}

TEST(FitLine, NeverGivesConstantsThatAModelCannotHave) {
  // Lines that fall, are level, or start at 0.
  for (const std::vector<HostSample>& samples :
       {std::vector<HostSample>{{8, 5}, {16, 4}, {32, 3}}, {{8, 5}, {16, 5}}, {{8, 1}, {16, 2}, {32, 4}}}) {
    const Line line = fitLine(samples);
    EXPECT_GT(line.start, 0);
    EXPECT_GT(line.perByte, 0);
  }
}

TEST(LowerQuartiles, AreTakenSizeBySize) {
  const std::vector<std::vector<HostSample>> rounds = {
      {{8, 1}, {16, 9}}, {{8, 7}, {16, 2}}, {{8, 2}, {16, 4}}};
  const std::vector<HostSample> quiet = lowerQuartiles(rounds);
  ASSERT_EQ(quiet.size(), 2u);
  EXPECT_EQ(quiet[0].bytes, 8);
  EXPECT_EQ(quiet[0].microseconds, 1.5);
  EXPECT_EQ(quiet[1].microseconds, 3);
  EXPECT_EQ(lowerQuartile({4, 1, 2, 3, 5}), 2);
}

TEST(FitHostModel, FindsTheConstantsOfExactTimes) {
  const std::vector<HostRound> rounds(3, roundOf(truth()));
  const HostFit fit = fitHostModel(rounds);
  expectNear(fit.model, truth(), 1e-3f);
  HostModel model = fit.model;
  for (std::size_t i = 0; i < fit.spread.size(); ++i) {
    EXPECT_FLOAT_EQ(fit.spread[i].low, *constantsOf(model)[i].value);
    EXPECT_FLOAT_EQ(fit.spread[i].high, *constantsOf(model)[i].value);
  }
}

TEST(FitHostModel, FindsThemInNoise) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> jitter(0.9, 1.1), chance(0, 1), disturbed(2, 30);
  std::vector<HostRound> rounds(11, roundOf(truth()));
  for (HostRound& round : rounds)
    forEachTime(round, [&](double& time) {
      time *= jitter(random) * (chance(random) < 0.15 ? disturbed(random) : 1);
    });
  const HostFit fit = fitHostModel(rounds);
  expectNear(fit.model, truth(), 0.25f);
  for (const Spread& spread : fit.spread) EXPECT_LT(spread.low, spread.high);
}

TEST(FitHostModel, KeepsTheDefaultsOfWhatWasNotMeasured) {
  HostRound round = roundOf(truth());
  round.net.clear();
  const HostFit fit = fitHostModel(std::vector<HostRound>{round});
  EXPECT_EQ(fit.model.netHop, HostModel().netHop);
  EXPECT_EQ(fit.model.netBandwidth, HostModel().netBandwidth);
  EXPECT_NEAR(fit.model.hop[Protocol::kLl], 0.15, 1e-3);
}

TEST(FitHostModel, GivesWhatTheVariableAccepts) {
  // The launch took longer than whole operations, so that their steps would take less than 0.
  HostRound round = roundOf(truth());
  round.launch = 1000;
  HostModel model = fitHostModel(std::vector<HostRound>{round}).model;
  HostModel again = HostModel::parse(model.text(), "test");
  expectNear(again, model, 1e-3f);
}

}  // namespace
}  // namespace xylem::tuning
