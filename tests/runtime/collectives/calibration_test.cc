// Measuring how data moves between two cores, and what is chosen by the times.

#include "runtime/collectives/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "core/error.h"

namespace xylem::collectives {
namespace {

using namespace ::testing;

std::vector<TimedWays> timesOf(const std::vector<std::vector<double>>& microseconds) {
  std::vector<TimedWays> timed;
  for (std::size_t i = 0; i < microseconds.size(); ++i)
    timed.push_back({"send and receive", {"a", "b"}, std::uint64_t{4096} << (2 * i), microseconds[i], {}});
  return timed;
}

// All have the same times in the first half of the turns, and these in the second one.
std::vector<TimedWays> withSecondHalf(std::vector<TimedWays> timed, const std::vector<double>& microseconds) {
  for (TimedWays& one : timed) {
    one.halves = {one.microseconds, microseconds};
    for (std::size_t way = 0; way < 2; ++way)
      one.microseconds[way] = std::min(one.microseconds[way], microseconds[way]);
  }
  return timed;
}

TEST(Calibration, TheSecondWayIsChosenWhereItIsClearlyFaster) {
  const auto range = [](const std::vector<std::vector<double>>& times) {
    const FasterRange found = whereSecondIsFaster(timesOf(times));
    return std::pair(found.from, found.upTo);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  constexpr std::uint64_t kAlways = std::uint64_t{1} << 40;
  EXPECT_EQ(range({}), Pair(0, 0));
  EXPECT_EQ(range({{1, 2}, {1, 1}, {1, 0.95}}), Pair(0, 0));  // not clearly
  EXPECT_EQ(range({{2, 1}, {1.2, 1}}), Pair(4096, 32768));    // beyond the largest size only a little,
  EXPECT_EQ(range({{2, 1}, {2, 1}}), Pair(4096, kAlways));    // and everywhere if it is far ahead there
  EXPECT_EQ(range({{1, 2}, {2, 1}, {1, 2}}), Pair(8192, 32768));
  // The longer stretch wins more.
  EXPECT_EQ(range({{1.2, 1}, {1, 2}, {2, 1}, {2, 1}}), Pair(32768, kAlways));
}

TEST(Calibration, AnotherWayIsChosenOnlyIfItIsClearlyFaster) {
  EXPECT_EQ(fastestWay({}, 1), 1U);
  EXPECT_EQ(fastestWay(timesOf({{1, 1.05}, {1, 1.05}}), 1), 1U);
  EXPECT_EQ(fastestWay(timesOf({{1, 1.5}, {1, 1.05}}), 1), 0U);
}

TEST(Calibration, TheLimitBetweenTwoWaysIsOneThatWasMeasured) {
  const auto limit = [](const std::vector<std::vector<double>>& times, std::uint64_t usual) {
    return bestLimit(timesOf(times), usual);
  };
  EXPECT_EQ(limit({}, 2000), 2000U);
  EXPECT_EQ(limit({{1, 2}, {1, 2}, {2, 1}}, 4096), 16384U);
  EXPECT_EQ(limit({{1, 2}, {1.4, 1}, {2, 1}}, 65536), 4096U);
  EXPECT_EQ(limit({{2, 1}, {2, 1}, {2, 1}}, 65536), 4096U) << "not less than the least";
  // Each size alone is faster by a twentieth.
  EXPECT_EQ(limit({{1, 2}, {1.05, 1}, {1.05, 1}}, 65536), 65536U);
}

TEST(Calibration, BothHalvesHaveToAgree) {
  const auto once = timesOf({{2, 1}, {2, 1}});
  for (const auto& [second, faster] :
       {std::pair(std::vector<double>{3, 2}, true), {{2, 1.9}, false}, {{1, 2}, false}}) {
    const auto both = withSecondHalf(once, second);
    EXPECT_EQ(whereSecondIsFaster(both).upTo > 0, faster);
    EXPECT_EQ(fastestWay(both, 0), faster ? 1U : 0U);
    EXPECT_EQ(bestLimit(both, 65536), faster ? 4096U : 65536U);
  }
}

TEST(Calibration, NumbersNameTheWaysOfAnOperationAnew) {
  Calibration found;
  found.timed = {{"AllReduce", {"staged", "read"}, 16384, {1, 2}, {}},
                 {"AllReduce", {"staged", "read"}, 65536, {3, 4}, {}},
                 {"AllReduce", {"pieces of 64 KiB", "pieces of 128 KiB"}, 524288, {5, 6}, {}}};
  EXPECT_EQ(found.numbers(),
            "AllReduce, staged/read in us: 16 KiB 1/2, 64 KiB 3/4; AllReduce, pieces of 64 KiB/pieces of 128 "
            "KiB in us: "
            "512 KiB 5/6");
}

TEST(Calibration, MeasuresAllWaysBetweenTwoCores) {
  const auto cores = device::corePair(device::coreSet(), device::coreSet());
  if (!cores) GTEST_SKIP() << "this process has one core";
  const device::CoreSet before = device::coreSet();
  const Calibration found = calibrate(*cores, {.time = std::chrono::seconds(60)});
  EXPECT_EQ(device::coreSet(), before);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(transport::CopyChoices::fromText(found.choices.text()), found.choices);
  EXPECT_GE(found.timed.size(), 15U);
  for (const TimedWays& timed : found.timed)
    for (const double time : timed.microseconds)
      EXPECT_TRUE(time > 0 && std::isfinite(time)) << timed.operation;
  EXPECT_THAT(found.numbers(), HasSubstr("small AllReduce, staged/mapped in us: 512 B "));
  EXPECT_THAT(found.numbers(), HasSubstr("staged AllReduce, whole/in shares in us: 64 KiB "));
}

TEST(Calibration, GivesUpWhenTimeRunsOut) {
  const auto cores = device::corePair(device::coreSet(), device::coreSet());
  if (!cores) GTEST_SKIP() << "this process has one core";
  EXPECT_FALSE(calibrate(*cores, {.time = std::chrono::milliseconds(0)}).complete);
}

// Each time that it may take ends it somewhere else.
TEST(Calibration, GivesUpWhereverItIs) {
  const auto cores = device::corePair(device::coreSet(), device::coreSet());
  if (!cores) GTEST_SKIP() << "this process has one core";
  const device::CoreSet before = device::coreSet();
  for (int milliseconds = 1; milliseconds <= 40; milliseconds += 3) {
    const Calibration found = calibrate(*cores, {.time = std::chrono::milliseconds(milliseconds)});
    for (const TimedWays& timed : found.timed)
      for (const double time : timed.microseconds) EXPECT_TRUE(std::isfinite(time)) << timed.operation;
    EXPECT_EQ(device::coreSet(), before);
  }
}

TEST(Calibration, GoesOnWhereTimeRanOut) {
  const auto cores = device::corePair(device::coreSet(), device::coreSet());
  if (!cores) GTEST_SKIP() << "this process has one core";
  Calibration found{.choices = transport::usualChoices(), .timed = {}};
  for (int milliseconds = 5; !found.complete && milliseconds < 100000; milliseconds *= 2) {
    const int before = found.steps;
    found = calibrate(*cores, {.time = std::chrono::milliseconds(milliseconds)}, found.steps, found.choices);
    EXPECT_GE(found.steps, before);
  }
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.steps, kCalibrationSteps);
}

TEST(Calibration, SaysWhichCoreItMayNotUse) {
  device::CorePair cores;
  cores.first = 0;
  cores.second = 1023;
  EXPECT_THAT([&] { calibrate(cores); }, ThrowsMessage<Error>(HasSubstr("cannot run on core 1023")));
}

// Eight cores in two groups with a cache each; core N and core N + 4 are halves of one.
TEST(CorePairs, AreOneOfEachKind) {
  const device::Sharing sharing{[](int a, int b) { return a % 4 / 2 == b % 4 / 2; },
                                [](int a, int b) { return a % 4 == b % 4; }};
  const auto pairsOf = [&](unsigned long cores) {
    std::vector<std::tuple<int, int, bool>> found;
    for (const device::CorePair& pair : device::corePairs(device::CoreSet(cores), sharing))
      found.emplace_back(pair.first, pair.second, pair.sharesCache);
    return found;
  };
  EXPECT_THAT(pairsOf(0b1111'1111), ElementsAre(std::tuple(0, 7, false), std::tuple(0, 1, true)));
  EXPECT_THAT(pairsOf(0b1001'0001), ElementsAre(std::tuple(0, 7, false), std::tuple(0, 4, true)))
      << "but halves";
  EXPECT_THAT(pairsOf(0b0010'1101), ElementsAre(std::tuple(0, 5, true), std::tuple(0, 2, false)));
  EXPECT_THAT(pairsOf(0b0000'0011), ElementsAre(std::tuple(0, 1, true)));
  EXPECT_THAT(pairsOf(0b1000), IsEmpty());
}

TEST(CorePair, HasTwoDifferentCores) {
  const auto of = [](std::initializer_list<std::size_t> cores) {
    device::CoreSet set;
    for (const std::size_t core : cores) set.set(core);
    return set;
  };
  EXPECT_EQ(device::corePair(of({3}), of({3})), std::nullopt);
  for (const auto& [mine, theirs] :
       {std::pair(of({0, 1}), of({0})), std::pair(of({0}), of({0, 1})), std::pair(of({5}), of({7}))}) {
    const auto pair = device::corePair(mine, theirs);
    ASSERT_TRUE(pair.has_value());
    EXPECT_NE(pair->first, pair->second);
    EXPECT_TRUE(mine[static_cast<std::size_t>(pair->first)] &&
                theirs[static_cast<std::size_t>(pair->second)]);
  }
}

}  // namespace
}  // namespace xylem::collectives
