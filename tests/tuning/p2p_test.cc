#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "core/settings.h"
#include "tuning/golden_job.h"
#include "tuning/p2p_schedule.h"
#include "tuning/p2p_split.h"

namespace xylem {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

std::vector<int> sends(int rank, const std::vector<int>& nodeOfRank) {
  std::vector<int> ranks;
  for (const P2pRound& round : p2pSchedule(rank, nodeOfRank)) ranks.push_back(round.send);
  return ranks;
}

TEST(P2pSchedule, SpreadsDistances) {
  EXPECT_THAT(sends(0, std::vector<int>(8)), ElementsAre(0, 1, 3, 6, 2, 7, 5, 4));
  EXPECT_THAT(sends(0, std::vector<int>(6)), ElementsAre(0, 1, 3, 2, 5, 4));
  EXPECT_THAT(sends(0, std::vector<int>(4)), ElementsAre(0, 1, 3, 2));
  EXPECT_THAT(sends(0, std::vector<int>(1)), ElementsAre(0));
}

TEST(P2pSchedule, GoesNodeByNodeIfNodesAreEven) {
  EXPECT_THAT(sends(1, {0, 0, 1, 1}), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(sends(1, {0, 0, 0, 1}), ElementsAre(1, 2, 0, 3));
}

TEST(P2pSchedule, WhoSendsIsReceivedFrom) {
  for (const std::vector<int>& nodes : {std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 2},
                                        std::vector<int>{0, 1, 0, 1, 0, 1}, std::vector<int>{0, 0, 0, 1}}) {
    const int ranks = static_cast<int>(nodes.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const auto mine = p2pSchedule(rank, nodes);
      ASSERT_EQ(mine.size(), nodes.size());
      std::set<int> met;
      for (std::size_t round = 0; round < mine.size(); ++round) {
        met.insert(mine[round].send);
        EXPECT_EQ(p2pSchedule(mine[round].send, nodes)[round].receive, rank);
      }
      EXPECT_EQ(met.size(), nodes.size());
    }
  }
}

TEST(P2pSchedule, AsInGoldenPlans) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  if (directory == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further golden plans";
  int compared = 0;
  for (const auto& file : golden::plansBelow(directory)) {
    const auto job = golden::readJob(file);
    if (!job || !job->plan["connections"].contains("ranks")) continue;
    const json& ranks = job->plan["connections"]["ranks"];
    if (!ranks.is_array()) continue;  // a sample
    std::vector<int> nodes;
    for (const json& rank : ranks) nodes.push_back(rank["node"]);
    for (const json& rank : ranks) {
      if (!rank.contains("p2pSchedule")) continue;
      json schedule = json::array();
      for (const P2pRound& round : p2pSchedule(rank["rank"], nodes))
        schedule.push_back({round.send, round.receive});
      EXPECT_EQ(rank["p2pSchedule"], schedule) << file.filename().string() << " rank " << rank["rank"];
      ++compared;
    }
  }
  std::printf("%s: schedules of %d ranks compared\n", directory, compared);
}

TEST(P2pChannel, PartsSpreadOverChannels) {
  std::vector<int> channels;
  for (int part = 0; part < 8; ++part) channels.push_back(p2pChannel(0, part, 8));
  EXPECT_THAT(channels, ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_EQ(p2pChannel(7, 2, 8), 1);
  EXPECT_EQ(p2pChannel(5, 0, 1), 0);
  EXPECT_EQ(p2pChannelBase(9, 1, 8), 9);
  EXPECT_EQ(p2pChannelBase(9, 2, 8), 1);
  EXPECT_EQ(p2pChannelBase(25, 3, 12), 4);
}

P2pJob oneNode() {
  P2pJob job = P2pJob::from(Settings(), 4, 1, true);
  job.channels = 8;
  job.channelsPerPeer = 2;
  return job;
}

TEST(P2pSplit, StepsFollowTheJob) {
  EXPECT_EQ(P2pJob::from(Settings(), 4, 1, true).stepBytes, 524288);
  EXPECT_EQ(P2pJob::from(Settings(), 4, 1, false).stepBytes, 131072);
  EXPECT_EQ(P2pJob::from(Settings(), 4, 2, true).stepBytes, 131072);
  EXPECT_EQ(P2pJob::from(Settings::fromPairs({{"NCCL_BUFFSIZE", "262144"}}), 4, 1, true).stepBytes, 32768);
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
  P2pJob job = P2pJob::from(Settings(), 4, 2, true);
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
}  // namespace xylem
