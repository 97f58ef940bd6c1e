#include "planner/tuning/split.h"

#include <gtest/gtest.h>

#include "planner/tuning/example_jobs.h"

namespace xylem::tuning {
namespace {

using testing::modelOf;
using testing::oneNvlinkHost;
using testing::twoSmallHosts;
using testing::twoSwitchedHosts;

std::uint64_t elements(const Split& split) {
  const int between = std::max(split.lastChannel - split.firstChannel - 1, 0);
  return split.low.count + split.middle.count * static_cast<std::uint64_t>(between) + split.high.count;
}

TEST(Split, OneOperationFillsItsChannelsEvenly) {
  const TuningModel model = modelOf(twoSmallHosts());  // two channels
  const std::vector<SplitTask> tasks = {{.count = 1 << 18, .elementBytes = 4, .channels = 2}};
  const std::vector<Split> splits = splitOverChannels(model, tasks);
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].firstChannel, 0);
  EXPECT_EQ(splits[0].lastChannel, 1);
  EXPECT_EQ(splits[0].low.count, 131072u);
  EXPECT_EQ(splits[0].high.count, 131072u);
  EXPECT_EQ(splits[0].low.chunkBytes, 2097152);
  EXPECT_EQ(splitLine(tasks[0], splits[0]).text,
            "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}");
}

TEST(Split, TheLastPieceHasWhatIsLeft) {
  const TuningModel model = modelOf(twoSmallHosts());
  const std::vector<SplitTask> tasks = {
      {.collective = Collective::kBroadcast, .count = 5000, .elementBytes = 4, .channels = 2}};
  const Split split = splitOverChannels(model, tasks)[0];
  EXPECT_EQ(split.low.count, 4096u);  // a cell of 16 KiB
  EXPECT_EQ(split.high.count, 904u);
}

TEST(Split, TheNextOperationGoesOnWhereTheLastStopped) {
  const TuningModel model = modelOf(oneNvlinkHost());  // eight channels
  const SplitTask small{.count = 6144, .elementBytes = 4, .channels = 1};
  const std::vector<Split> splits = splitOverChannels(model, std::vector<SplitTask>(3, small));
  ASSERT_EQ(splits.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(splits[static_cast<std::size_t>(i)].firstChannel, i);
    EXPECT_EQ(splits[static_cast<std::size_t>(i)].lastChannel, i);
  }
}

TEST(Split, KindsStartAtChannelZeroEach) {
  const TuningModel model = modelOf(twoSwitchedHosts());
  const SplitTask nvls{
      .algorithm = Algorithm::kNvlsTree, .count = 1 << 20, .elementBytes = 4, .channels = 16};
  const SplitTask ring{.count = 1 << 20, .elementBytes = 4, .channels = 16};
  const std::vector<Split> splits = splitOverChannels(model, std::vector<SplitTask>{nvls, ring});
  ASSERT_EQ(splits.size(), 2u);
  EXPECT_EQ(splits[0].task, 1u);
  EXPECT_EQ(splits[1].task, 0u);
  for (const Split& split : splits) {
    EXPECT_EQ(split.firstChannel, 0);
    EXPECT_EQ(split.lastChannel, 15);
  }
}

TEST(Split, CollnetWorksOnAllOfItsChannels) {
  const TuningModel model = modelOf(twoSwitchedHosts());
  const SplitTask task{
      .algorithm = Algorithm::kCollnetChain, .count = 1000, .elementBytes = 4, .channels = 3};
  const Split split = splitOverChannels(model, std::vector<SplitTask>{task})[0];
  EXPECT_EQ(split.lastChannel, 2);
  EXPECT_EQ(split.low.count, 1000u);
}

TEST(Split, LosesNothingAndStaysOnTheChannels) {
  for (const TuningInput& input : {twoSmallHosts(), oneNvlinkHost(), twoSwitchedHosts()}) {
    const TuningModel model = modelOf(input);
    std::vector<SplitTask> tasks;
    std::uint64_t count = 1;
    for (int i = 0; i < 40; ++i) {
      const Collective collective = kAllCollectives[static_cast<std::size_t>(i) % kAllCollectives.size()];
      count = count * 7919 % 3000017 + 1;
      tasks.push_back({.collective = collective,
                       .count = count,
                       .elementBytes = 4,
                       .channels = 1 + i % std::max(input.nChannels, 1)});
      const std::vector<Split> splits = splitOverChannels(model, tasks);
      ASSERT_EQ(splits.size(), tasks.size());
      int channel = 0;
      for (const Split& split : splits) {
        EXPECT_EQ(elements(split), tasks[split.task].count);
        EXPECT_GE(split.firstChannel, channel);
        EXPECT_LT(split.lastChannel, input.nChannels);
        channel = split.lastChannel;
      }
    }
  }
}

}  // namespace
}  // namespace xylem::tuning
