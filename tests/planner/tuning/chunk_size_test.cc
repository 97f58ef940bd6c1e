#include "planner/tuning/chunk_size.h"

#include <gtest/gtest.h>

#include "planner/tuning/example_jobs.h"

namespace xylem::tuning {
namespace {

using enum Algorithm;
using enum Protocol;
using testing::modelOf;
using testing::twoSmallHosts;
using testing::twoSwitchedHosts;

constexpr std::uint64_t kMiB = 1 << 20;

std::int64_t chunk(const TuningModel& model, Algorithm algorithm, Protocol protocol, std::uint64_t bytes,
                   int channels, Collective collective = Collective::kAllReduce) {
  return chunkBytes(model, {collective, algorithm, protocol, bytes, channels});
}

TEST(ChunkSize, OfRingsFollowsTheBuffers) {
  const TuningModel model = modelOf(twoSmallHosts());
  EXPECT_EQ(chunk(model, kRing, kSimple, 8, 2), 2097152);
  EXPECT_EQ(chunk(model, kRing, kLl, 8, 2), 32768);
  EXPECT_EQ(chunk(model, kRing, kLl128, 8, 2), 576000);
  EXPECT_EQ(chunk(model, kRing, kSimple, 8, 2, Collective::kBroadcast), 524288);
  EXPECT_EQ(chunk(modelOf(twoSmallHosts(), {{"NCCL_BUFFSIZE", "1000000"}}), kRing, kSimple, 8, 2),
            4 * 125000 / 512 * 512);
}

TEST(ChunkSize, OfTreesWithLl128ShrinksUntilAllLevelsWork) {
  const TuningModel model = modelOf(twoSwitchedHosts());
  // 1 + log2(2) + 0.1 * 8 = 2.8 levels: 22.4 chunks per rank and channel wanted, then 5.6.
  EXPECT_EQ(chunk(model, kTree, kLl128, 1024 * kMiB, 16), 576000);
  EXPECT_EQ(chunk(model, kTree, kLl128, 64 * kMiB, 16), 144000 / 1920 * 1920);
  EXPECT_EQ(chunk(model, kTree, kLl128, 8, 16), 18000 / 1920 * 1920);
  EXPECT_EQ(chunk(model, kTree, kSimple, 8, 16), 524288);
}

TEST(ChunkSize, OfNvlsGoesDownInSteps) {
  TuningInput input = twoSwitchedHosts();
  input.nvlsHeads = 8;
  const TuningModel two = modelOf(input);
  EXPECT_EQ(chunk(two, kNvlsTree, kSimple, 1024 * kMiB, 16), 131072);
  EXPECT_EQ(chunk(two, kNvlsTree, kSimple, 32 * kMiB, 16), 65536);
  EXPECT_EQ(chunk(two, kNvlsTree, kSimple, 4 * kMiB, 16), 32768);
  // Across nodes without CollNet NVLS has no bandwidth.
  EXPECT_EQ(chunk(two, kNvls, kSimple, 1024 * kMiB, 16), 32768);
  input.nodes = 4;
  EXPECT_EQ(chunk(modelOf(input), kNvlsTree, kSimple, 1024 * kMiB, 16), 65536);
  EXPECT_EQ(
      chunk(modelOf(input, {{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "98304"}}), kNvlsTree, kSimple, 1024 * kMiB, 16),
      98304);
  input.nodes = 1;
  const TuningModel one = modelOf(input);
  EXPECT_EQ(chunk(one, kNvls, kSimple, 1024 * kMiB, 16), 131072);
  EXPECT_EQ(chunk(one, kNvls, kSimple, 512 * kMiB, 16), 65536);
  EXPECT_EQ(chunk(one, kNvls, kSimple, 32 * kMiB, 16), 32768);
  EXPECT_EQ(chunk(one, kNvls, kSimple, 1 * kMiB, 16), 16384);
}

TEST(ChunkSize, OfCollnetAndPatHalves) {
  TuningInput input = twoSwitchedHosts();
  input.collnetHeads = input.collnetDirectHeads = 8;
  const TuningModel model = modelOf(input);
  EXPECT_EQ(chunk(model, kCollnetDirect, kSimple, 8, 16), 32768);
  EXPECT_EQ(chunk(model, kCollnetDirect, kSimple, 1ull << 40, 16), 524288);
  EXPECT_EQ(chunk(model, kCollnetChain, kSimple, 1ull << 40, 16), 262144);
  EXPECT_EQ(chunk(model, kCollnetChain, kSimple, 8, 16), 32768);
  EXPECT_EQ(chunk(model, kPat, kSimple, 64 * kMiB, 16, Collective::kAllGather), 131072);
  EXPECT_EQ(chunk(model, kPat, kSimple, 64 * kMiB, 16, Collective::kReduceScatter), 262144);
}

TEST(ProxySteps, CountLoopsOverTheData) {
  const TuningModel model = modelOf(twoSmallHosts());  // four ranks
  const ProxySteps ring = proxySteps(model, {Collective::kAllReduce, kRing, kSimple, 32 * kMiB, 2});
  // Two channels of four chunks of 2 MiB a loop: two loops of six steps, four buffer slots each.
  EXPECT_EQ(ring.steps, 6 * 2 * 4);
  EXPECT_EQ(ring.chunkBytes, 2097152);
  EXPECT_EQ(ring.sliceBytes, 1048576);
  const ProxySteps tree = proxySteps(model, {Collective::kAllReduce, kTree, kSimple, 32 * kMiB, 2});
  EXPECT_EQ(tree.steps, 32);
}

}  // namespace
}  // namespace xylem::tuning
