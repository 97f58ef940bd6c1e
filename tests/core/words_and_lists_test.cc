// Small functions on words, lists in text, and indices.

#include <gmock/gmock.h>

#include <vector>

#include "core/edit_distance.h"
#include "core/index_range.h"
#include "core/interface_list.h"
#include "core/number_ranges.h"
#include "core/slurm_lists.h"
#include "core/spelling.h"

namespace xylem {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("plan", "plan"), 0u);
  EXPECT_EQ(editDistance("plna", "plan"), 2u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

TEST(NearestWord, TakesTheFirstOfTheNearest) {
  EXPECT_EQ(nearestWord("detct", {"plan", "detect", "show"}), "detect");
  EXPECT_EQ(nearestWord("plan", {"plan1", "plan2"}), "plan1");
}

TEST(NearestWord, IsEmptyForWhatIsFarFromAll) {
  EXPECT_EQ(nearestWord("zzzzzzzz", {"plan", "detect"}), "");
  EXPECT_EQ(nearestWord("plan", {}), "");
}

TEST(NumberRanges, JoinNeighbours) {
  EXPECT_THAT(numberRanges(std::vector{0, 1, 2, 5}),
              ::testing::ElementsAre(NumberRange{0, 2}, NumberRange{5, 5}));
  EXPECT_EQ(rankRanges(std::vector{3}), "rank 3");
  EXPECT_EQ(rankRanges(std::vector{0, 1, 2, 5}), "ranks 0-2, 5");
  EXPECT_EQ(rankRanges(std::vector{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14, ... (10 ranks in all)");
}

TEST(InterfaceList, SelectsByPrefixNameAndExclusion) {
  EXPECT_TRUE(interfaceMatches("", "eth0"));
  EXPECT_TRUE(interfaceMatches("eth,ib", "ib0"));
  EXPECT_FALSE(interfaceMatches("eth,ib", "docker0"));
  std::string many = "=";
  for (int i = 0; i < 20; ++i) many += "eth" + std::to_string(i) + ",";
  EXPECT_TRUE(interfaceMatches(many, "eth15"));
  EXPECT_FALSE(interfaceMatches(many, "eth16")) << "NCCL reads 16 entries";
  EXPECT_TRUE(interfaceMatches("=eth0,ib0", "eth0"));
  EXPECT_FALSE(interfaceMatches("=eth", "eth0"));
  EXPECT_FALSE(interfaceMatches("^docker,lo", "docker0"));
  EXPECT_TRUE(interfaceMatches("^docker,lo", "eth0"));
  EXPECT_FALSE(interfaceMatches("^=eth0", "eth0"));
  EXPECT_TRUE(interfaceMatches("^=eth0", "eth01"));
  EXPECT_TRUE(interfaceMatches(",,eth", "eth0"));
  EXPECT_FALSE(interfaceMatches(",", "eth0"));
  EXPECT_TRUE(interfaceMatches("eth0:9999", "eth0"));
}

TEST(SlurmLists, TheFirstHostIsFound) {
  EXPECT_EQ(firstSlurmHost("node7"), "node7");
  EXPECT_EQ(firstSlurmHost("login1,node[1-3]"), "login1");
  EXPECT_EQ(firstSlurmHost("node[007-012,020],other"), "node007");
  EXPECT_EQ(firstSlurmHost("rack[2,4]-[03-04]x"), "rack2-03x");
  EXPECT_EQ(firstSlurmHost(""), "");
  EXPECT_EQ(firstSlurmHost("node[1"), "");
}

TEST(SlurmLists, TasksAreCountedNodeByNode) {
  EXPECT_EQ(slurmTasksOn("4", 0), 4);
  EXPECT_EQ(slurmTasksOn("4(x2),1", 1), 4);
  EXPECT_EQ(slurmTasksOn("4(x2),1", 2), 1);
  EXPECT_EQ(slurmTasksOn("4(x2),1", 3), std::nullopt);
  EXPECT_EQ(slurmTasksOn("4(x,1", 0), std::nullopt);
  EXPECT_EQ(slurmTasksOn("four", 0), std::nullopt);
}

TEST(IndexRange, HoldsTheIndicesFromFirstToBeforeEnd) {
  const IndexRange range(2, 5);
  EXPECT_THAT(std::vector<int>(range.begin(), range.end()), ::testing::ElementsAre(2, 3, 4));
  EXPECT_EQ(range.size(), 3u);
  EXPECT_EQ(range.front(), 2);
  EXPECT_EQ(range[2], 4);
}

TEST(IndexRange, MayBeEmpty) {
  EXPECT_TRUE(IndexRange(3, 3).empty());
  EXPECT_TRUE(IndexRange(3, 1).empty());
  EXPECT_EQ(IndexRange(3, 1).size(), 0u);
}

TEST(Spelling, SizesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parseSize("8"), 8u);
  for (const char* text : {"1.5M", "1.5 M", "1.5m", "1.5MB", "1.5 MiB", "1536K", "1572864 B"})
    EXPECT_EQ(parseSize(text), 1572864u) << text;
  EXPECT_EQ(parseSize("256 KiB"), 262144u);
  EXPECT_EQ(parseSize("2T"), std::uint64_t{2} << 40);
  for (const char* text : {"", "K", "-1", "8X", "8KK", "8 Ki!", "1e3", "nan", "9E9", "8 K B", "2E"})
    EXPECT_EQ(parseSize(text), std::nullopt) << text;
}

TEST(Spelling, OperationsAreReadAsPeopleWriteThem) {
  for (const char* text : {"AllReduce", "all_reduce", "allreduce", "all-reduce", "ALLREDUCE"})
    EXPECT_EQ(collectiveNamed(text), Collective::kAllReduce) << text;
  EXPECT_EQ(collectiveNamed("reduce_scatter"), Collective::kReduceScatter);
  EXPECT_EQ(collectiveNamed("all_redce"), std::nullopt);
  EXPECT_EQ(collectiveNamed("send"), std::nullopt);
}

}  // namespace
}  // namespace xylem
