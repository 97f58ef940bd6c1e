#include <gtest/gtest.h>

#include "core/settings.h"
#include "planner/tuning/p2p_split.h"
#include "planner_support/rules.h"

namespace xylem::tuning {
namespace {

P2pJob jobOf(int nodes, bool allNvlink, const std::map<std::string, std::string>& settings = {}) {
  return P2pJob::from(Settings::fromPairs(settings), 4, nodes, allNvlink, {.rules = testing::rules225()});
}

P2pJob oneNode() {
  P2pJob job = jobOf(1, true);
  job.channels = 8;
  job.channelsPerPeer = 2;
  return job;
}

TEST(P2pSplit, StepsFollowTheJob) {
  EXPECT_EQ(jobOf(1, true).stepBytes, 524288);
  EXPECT_EQ(jobOf(1, false).stepBytes, 131072);
  EXPECT_EQ(jobOf(2, true).stepBytes, 131072);
  EXPECT_EQ(jobOf(1, true, {{"NCCL_BUFFSIZE", "262144"}}).stepBytes, 32768);
}

TEST(P2pSplit, SmallMessagesTakeLl) {
  const P2pSplit small = splitP2p(oneNode(), {.bytes = 32768});
  EXPECT_EQ(small.protocol, Protocol::kLl);
  EXPECT_EQ(small.chunkBytes, 65536);
  EXPECT_EQ(small.dataBytes, 32768);
  EXPECT_EQ(splitP2p(oneNode(), {.bytes = 32769}).protocol, Protocol::kSimple);
  EXPECT_EQ(splitP2p(oneNode(), {.bytes = 8, .toSelf = true}).protocol, Protocol::kSimple);
  EXPECT_EQ(splitP2p(oneNode(), {.bytes = 0}).channels, 1);
}

TEST(P2pSplit, PartsCoverTheMessage) {
  for (const std::uint64_t bytes : {1ull, 4097ull, 100000ull, 1ull << 20, (1ull << 30) + 3}) {
    const P2pSplit split = splitP2p(oneNode(), {.bytes = bytes});
    EXPECT_LE(split.channels, 2);
    std::uint64_t next = 0;
    for (int part = 0; part < split.channels; ++part) {
      EXPECT_EQ(split.part(part).begin, next);
      next = split.part(part).end;
    }
    EXPECT_EQ(next, bytes);
  }
}

TEST(P2pSplit, ShortMessagesCrossTheNetworkInSmallChunks) {
  P2pJob job = jobOf(2, true);
  job.channels = job.channelsPerPeer = 2;
  const auto chunk = [&](std::uint64_t bytes) {
    return splitP2p(job, {.bytes = bytes, .overNetwork = true, .hasLl = false}).chunkBytes;
  };
  EXPECT_EQ(chunk(131071), 32768);
  EXPECT_EQ(chunk(131072), 65536);
  EXPECT_EQ(chunk(1048576), 131072);
  job.chunkOverride = 1000;
  EXPECT_EQ(chunk(8), 1000);
  // Four leading bits: 0b1111101000 becomes 0b1111000000.
  EXPECT_EQ(splitP2p(job, {.bytes = 8, .hasLl = false}).dataBytes, 960);
}

}  // namespace
}  // namespace xylem::tuning
