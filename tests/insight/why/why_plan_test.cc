// xylem why on channels, their number, algorithms and log lines: facts of the answers on machines of the zoo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "insight/why/room.h"
#include "insight/why/why_support.h"

namespace xylem {
namespace {

using namespace testing;  // NOLINT: matchers and the questions
using ::testing::HasSubstr;

TEST(WhyChannels, ListsEverySearchWithWhatItGaveUp) {
  const Answer answer = ask("dgxh100", 2, {"channels", "ring"});
  EXPECT_THAT(answer.headline, HasSubstr("8 x 48.0 GB/s over NVL, NICs PIX"));
  const AnswerTable& searches = answer.tables.at(0);
  ASSERT_EQ(searches.rows.size(), 18u);
  EXPECT_THAT(searches.rows[0][2], HasSubstr("first try"));
  EXPECT_EQ(searches.rows[1][2], "channels may differ in order");
  EXPECT_EQ(searches.rows[16][2], "channels may cross NICs");
  EXPECT_EQ(searches.rows[17][10], "7 -> 8");
  EXPECT_THAT(answer.step("search-end")->text, HasSubstr("all that a GPU can send"));
  EXPECT_EQ(answer.step("relaxations")->input("channels came from search"), "18");
}

TEST(WhyChannels, NamesTheLinkThatIsFull) {
  const Answer answer = ask("dgxh100", 2, {"channels"});
  const AnswerStep* full = answer.step("full-link");
  ASSERT_NE(full, nullptr);
  EXPECT_EQ(full->input("GPU 0 to NVSwitch (NVL)"), "34.8 GB/s of 370.8 GB/s left, 48.0 GB/s wanted");
  EXPECT_EQ(lineOf(*full), 6);
}

// Four channels, and no fifth: GPUs still have ways on, but not a ring of them.
TEST(WhyChannels, SaysWhenNoOrderIsLeft) {
  const Answer answer = ask("seed-mix4-sm80", 1, {"channels", "ring"});
  EXPECT_THAT(answer.headline, HasSubstr("4 x 20.0 GB/s"));
  const AnswerStep* order = answer.step("no-order");
  ASSERT_NE(order, nullptr);
  EXPECT_NE(order->input("ways left"), "");
  EXPECT_EQ(answer.step("duplication")->yes, false);
  EXPECT_THAT(answer.step("duplication")->text, HasSubstr("too little bandwidth"));
}

TEST(WhyChannels, DoublingIsARuleOfItsOwn) {
  const Answer answer = ask("dgxa100", 1, {"channels", "ring"});
  const AnswerStep* doubled = answer.step("duplication");
  EXPECT_EQ(doubled->yes, true);
  EXPECT_THAT(doubled->threshold, HasSubstr("25.0 GB/s"));
}

TEST(WhyChannels, TreesWantAsManyAsRings) {
  const Answer answer = ask("dgxh100", 2, {"channels", "tree"});
  EXPECT_EQ(answer.step("most-channels")->threshold, "8 channels");
  EXPECT_THAT(answer.step("search-end")->text, HasSubstr("all 8 channels wanted"));
}

TEST(WhyChannels, SaysWhatAGraphThatWasNotComputedNeeds) {
  EXPECT_THAT(ask("dgxh100", 2, {"channels", "nvls"}).headline, HasSubstr("--nvls"));
  EXPECT_THAT(ask("dgxh100", 2, {"channels", "chain"}).headline, HasSubstr("--collnet"));
}

TEST(WhyChannels, EveryMachineOfTheZooHasAnAnswer) {
  for (const char* machine : {"dgx1v", "dgx1v-5gpu", "dgx2", "summit", "rand-012", "rtx8-rootport-amd",
                              "eth-direct-1cpu", "gpu1-nonic", "gh200x4", "dgx1p-sm60"})
    for (const char* graph : {"ring", "tree"})
      for (int hosts : {1, 2}) {
        const Answer answer = ask(machine, hosts, {"channels", graph});
        ASSERT_NE(answer.step("search-end"), nullptr) << machine;
        EXPECT_NE(answer.step("search-end")->text, "it was not searched") << machine;
      }
}

// The account that names full links takes what the search took.
TEST(WhyRoom, TheChannelsFitTheirLinks) {
  for (const char* machine :
       {"dgx1v", "dgxh100", "dgxa100", "summit", "a40x8-pcie", "seed-mix4-sm90", "dgx2"})
    for (int hosts : {1, 2}) {
      const std::string file = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + machine + ".xml";
      const Plan plan = planJob(identicalHosts(readTopology(file), hosts), Settings());
      EXPECT_TRUE(roomLeft(plan.hostOf(0), GraphKind::kRing).exact) << machine << hosts;
    }
}

TEST(WhyCount, StepsLeadToTheNumber) {
  const Answer answer = ask("dgxh100", 2, {"count"});
  EXPECT_THAT(answer.headline, HasSubstr("8 -> 16"));
  EXPECT_EQ(answer.step("searched")->input("after"), "8");
  EXPECT_EQ(answer.step("two-trees")->input("after"), "16");
  EXPECT_EQ(answer.step("fast-gpus-double")->yes, false);
  EXPECT_EQ(answer.whatIfs[0].setting, "NCCL_MIN_NCHANNELS=32");
  EXPECT_THAT(answer.whatIfs[0].outcome, HasSubstr("32 channels"));
}

TEST(WhyCount, LimitsAreNamed) {
  const Answer answer = ask("dgxh100", 2, {"count"}, {{"NCCL_MAX_NCHANNELS", "6"}});
  EXPECT_EQ(answer.step("maximum")->yes, true);
  EXPECT_EQ(answer.step("maximum")->input("after"), "6");
  EXPECT_EQ(answer.step("maximum")->variable, Setting::kMaxNChannels);
}

TEST(WhyAlgorithm, RanksAllAndSaysWhyTheOthersCannot) {
  const Answer answer = ask("dgxh100", 2, {"algo", "all_reduce", "1M"});
  EXPECT_EQ(answer.question, "algo AllReduce 1 MiB");
  EXPECT_THAT(answer.headline, HasSubstr("Tree/LL128"));
  EXPECT_EQ(answer.tables[0].rows.size() + answer.tables[1].rows.size(), 21u);
  EXPECT_EQ(answer.tables[0].rows[0][0], "Tree");
  const auto nvls = rowsWith(answer.tables[1], 0, "NVLSTree");
  ASSERT_EQ(nvls.size(), 3u);
  EXPECT_THAT(nvls[2][2], HasSubstr("needs NVLink multicast"));
  EXPECT_EQ(answer.step("model-bandwidth")->input("together"), "384.0 GB/s");
  EXPECT_EQ(answer.whatIfs[0].setting, "NCCL_ALGO=Ring");
}

TEST(WhyAlgorithm, TakesNamesAndSizesAsPeopleWriteThem) {
  for (const char* name : {"allreduce", "AllReduce", "all-reduce", "all_reduce"})
    for (const char* size : {"1048576", "1024k", "1MiB", "1m"})
      EXPECT_EQ(ask("seed-a40x2", 2, {"algo", name, size}).question, "algo AllReduce 1 MiB");
  EXPECT_THROW(ask("seed-a40x2", 2, {"algo", "allreduce", "-1"}), InputError);
  EXPECT_THROW(ask("seed-a40x2", 2, {"algo", "allreduce", "99999999999T"}), InputError);
}

TEST(WhyRank, DecodesTheLogLines) {
  const Answer answer = ask("dgxh100", 2, {"rank", "3"});
  EXPECT_EQ(answer.step("line-trees")->input("line"), "Trees [0] 4/-1/-1->3->2");
  EXPECT_THAT(answer.step("line-trees")->text, HasSubstr("takes sums from rank 4; sums up to rank 2"));
  const AnswerTable* trees = tableNamed(answer, "Its Trees line");
  const auto root = rowsWith(*trees, 0, "[3]");
  ASSERT_EQ(root.size(), 1u);
  EXPECT_THAT(root[0][2], HasSubstr("rank 11 on host 1; it is the root"));
  const AnswerTable* rings = tableNamed(answer, "Its place in the rings");
  ASSERT_EQ(rings->rows.size(), 16u);
  EXPECT_EQ(rings->rows[2][2], "Channel 02/0 : 3[3] -> 11[3] [send] via NET/IB/3/GDRDMA");
}

TEST(WhyNames, SeveralNamesMeanTheSame) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"gdr", "gpu1", "nic2"},
                                             {"gdr", "nic2", "gpu1"},
                                             {"gdr", "GPU", "1", "NET", "2"},
                                             {"gdr", "GPU 1", "NET 2"},
                                             {"gdr", "1", "net2"},
                                             {"gdr", "dev1", "mlx5_0+mlx5_1"},
                                             {"gdr", "0000:bd:00.0", "0000:45:00.0"}})
    EXPECT_EQ(ask("seed-a40x2", 2, words).question, "gdr GPU 1 NET 2") << words[1];
}

TEST(WhyNames, RefusalsSayWhatThereIs) {
  const auto refusal = [](const std::vector<std::string>& words) -> std::string {
    try {
      ask("seed-a40x2", 2, words);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({"gdr", "gpu4", "nic2"}), HasSubstr("gpu0 to gpu3"));
  EXPECT_THAT(refusal({"gdr", "gpu0", "nic0"}), HasSubstr("nic2 (mlx5_0+mlx5_1)"));
  EXPECT_THAT(refusal({"p2p", "gpu0", "nic2"}), HasSubstr("that is a NIC"));
  EXPECT_THAT(refusal({"gpr", "gpu0", "nic2"}), HasSubstr("did you mean gdr?"));
  EXPECT_THAT(refusal({"count", "all"}), HasSubstr("expected count"));
  EXPECT_THAT(refusal({"channels", "star"}), HasSubstr("one of ring, tree"));
}

}  // namespace
}  // namespace xylem
