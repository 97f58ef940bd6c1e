#include "planner/connect/channel_count.h"

#include <gtest/gtest.h>

#include "core/settings.h"

namespace xylem::connect {
namespace {

std::vector<int> sources(const ChannelCountInput& input,
                         const std::map<std::string, std::string>& settings = {}) {
  return countChannels(input, ChannelLimits::from(Settings::fromPairs(settings))).source;
}

TEST(ChannelCount, DoublesWhatWasSearched) {
  EXPECT_EQ(sources({.searched = 2, .lowestSm = 80}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(sources({.searched = 40, .lowestSm = 80}).size(), 64u);
}

TEST(ChannelCount, FastHopperRingsDoubleAgainBelowSixteen) {
  const ChannelCountInput fast{.searched = 4, .nodes = 2, .lowestSm = 90, .ringBandwidth = 48};
  EXPECT_EQ(sources(fast).size(), 16u);
  ChannelCountInput other = fast;
  other.nodes = 1;
  EXPECT_EQ(sources(other).size(), 8u);
  other = fast;
  other.ringBandwidth = 45;
  EXPECT_EQ(sources(other).size(), 8u);
  other = fast;
  other.searched = 8;
  EXPECT_EQ(sources(other).size(), 16u);
}

TEST(ChannelCount, TheMaximumComesBeforeTheMinimum) {
  const ChannelCountInput input{.searched = 2, .lowestSm = 80};
  EXPECT_EQ(sources(input, {{"NCCL_MAX_NCHANNELS", "1"}, {"NCCL_MIN_NCHANNELS", "4"}}),
            (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(sources(input, {{"NCCL_MAX_NRINGS", "3"}}), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(sources(input, {{"NCCL_MAX_CTAS", "1"}}).size(), 1u);
  EXPECT_EQ(sources(input, {{"NCCL_MIN_CTAS", "6"}}), (std::vector<int>{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(sources(input, {{"NCCL_WORK_ARGS_BYTES", "80"}}).size(), 3u);
}

}  // namespace
}  // namespace xylem::connect
