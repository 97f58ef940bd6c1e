// xylem why: facts of the answers to each kind of question, on machines of the zoo.
#include "insight/why/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>

#include "core/error.h"
#include "insight/why/bandwidth_left.h"
#include "planner_support/rules.h"
#include "support/sanitizers.h"

namespace xylem::why {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Answer askWith(const std::string& machine, int hosts, const std::vector<std::string>& words,
               const Settings& settings) {
  const std::string file = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + machine + ".xml";
  return Inquiry(plan::identicalHosts(topology::readTopology(file), hosts), settings).ask(words);
}

// The answer about a job of identical hosts, by the rules of 2.25.1.
Answer ask(const std::string& machine, int hosts, const std::vector<std::string>& words,
           const std::map<std::string, std::string>& settings = {}) {
  return askWith(machine, hosts, words, testing::settings225(settings));
}

// By the rules of the newest version, or of XYLEM_NCCL.
Answer askNow(const std::string& machine, int hosts, const std::vector<std::string>& words,
              const std::map<std::string, std::string>& settings = {}) {
  return askWith(machine, hosts, words, Settings::fromPairs(settings));
}

// The line of the step's source number i; 0 if it has fewer sources.
int lineOf(const AnswerStep& step, std::size_t i = 0) {
  return i < step.sources.size() ? step.sources[i].line : 0;
}

// The rows of a table that have the text in the column.
std::vector<std::vector<std::string>> rowsWith(const AnswerTable& table, std::size_t column,
                                               const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows)
    if (row.at(column) == text) rows.push_back(row);
  return rows;
}

// The table whose title starts so; null if there is none.
const AnswerTable* tableNamed(const Answer& answer, const std::string& start) {
  for (const AnswerTable& table : answer.tables)
    if (table.title.starts_with(start)) return &table;
  return nullptr;
}

std::vector<std::string> namesOf(const std::vector<VersionRule>& rules) {
  std::vector<std::string> names;
  for (const VersionRule& rule : rules) names.push_back(rule.name);
  return names;
}

// By 2.27.7's rules a GB200 has GPU Direct RDMA over its CPU; by 2.25.1's it has not.
TEST(WhyVersions, NamesTheChangesThatDecided) {
  const Answer answer =
      askWith("gb200x4", 2, {"gdr", "gpu0", "nic0"}, Settings::fromPairs({{"XYLEM_NCCL", "2.27.7"}}));
  EXPECT_EQ(answer.yes, true);
  EXPECT_THAT(namesOf(answer.versionRules), ElementsAre("26-c2c-type", "27-p2c-type", "27-gdr-c2c"));
  EXPECT_EQ(answer.versionRules.back().since, "2.27.3");
  EXPECT_EQ(answer.versionRules.back().back, "NCCL_NET_GDR_C2C=0");
  EXPECT_THAT(answer.before, HasSubstr("no GPU Direct RDMA"));
}

TEST(WhyVersions, SaysNothingWhereAllVersionsDecideAlike) {
  // The numbers of path types have changed, which decides nothing.
  const Answer answer = askWith("seed-a40x2", 2, {"gdr", "gpu0", "nic2"}, Settings());
  EXPECT_THAT(answer.headline, HasSubstr("no GPU Direct RDMA"));
  EXPECT_TRUE(answer.versionRules.empty());
  EXPECT_EQ(answer.before, "");
  EXPECT_TRUE(ask("gb200x4", 2, {"gdr", "gpu0", "nic0"}).versionRules.empty())
      << "the oldest rules themselves";
}

// A variable that forbids something is no matter of versions.
TEST(WhyVersions, KeepsTheUsersVariables) {
  const Answer answer = askWith("gb200x4", 2, {"gdr", "gpu0", "nic0"},
                                Settings::fromPairs({{"XYLEM_NCCL", "2.27.7"}, {"NCCL_NET_GDR_C2C", "0"}}));
  EXPECT_EQ(answer.yes, false);
  EXPECT_THAT(namesOf(answer.versionRules), Not(Contains("27-gdr-c2c")));
}

TEST(WhyGdr, SaysWhatDistance7Means) {
  const Answer answer = ask("seed-a40x2", 2, {"gdr", "gpu0", "nic2"});
  EXPECT_EQ(answer.question, "gdr GPU 0 NET 2");
  EXPECT_EQ(answer.yes, false);
  EXPECT_THAT(answer.headline, AllOf(HasSubstr("no GPU Direct RDMA"), HasSubstr("distance 7 > 4")));
  const AnswerStep* receive = answer.step("gdr-receive");
  ASSERT_NE(receive, nullptr);
  EXPECT_EQ(receive->input("distance"), "SYS (7)");
  EXPECT_EQ(receive->threshold, "PXB (4), NCCL's default");
  EXPECT_EQ(receive->variable, Setting::kNetGdrLevel);
  EXPECT_EQ(lineOf(*receive, 0), 11);  // the GPU
  EXPECT_EQ(lineOf(*receive, 1), 5);   // the NET
  EXPECT_THAT(receive->sources[0].file, HasSubstr("seed-a40x2.xml"));
  EXPECT_THAT(receive->sources[0].element, HasSubstr("<gpu dev=\"0\""));
  EXPECT_THAT(answer.step("path-type")->input("farthest link"), HasSubstr("from one CPU to another"));
  EXPECT_THAT(answer.notes[0], HasSubstr("GPU Direct RDMA Disabled for GPU 0 / HCA 2 (distance 7 > 4)"));
  ASSERT_EQ(answer.whatIfs.size(), 1u);
  EXPECT_EQ(answer.whatIfs[0].setting, "NCCL_NET_GDR_LEVEL=SYS");
  EXPECT_THAT(answer.whatIfs[0].outcome, HasSubstr("GPU Direct RDMA in both directions"));
}

TEST(WhyGdr, SaysWhenASettingMadeTheLimit) {
  const Answer answer = ask("seed-a40x2", 2, {"gdr", "gpu0", "nic2"}, {{"NCCL_NET_GDR_LEVEL", "SYS"}});
  EXPECT_EQ(answer.yes, true);
  EXPECT_EQ(answer.step("gdr-send")->threshold, "SYS (7), set by NCCL_NET_GDR_LEVEL");
}

TEST(WhyGdr, NamesTheNicThatCannot) {
  const Answer answer = ask("nic-nogdr", 2, {"gdr", "gpu0", "nic0"});
  EXPECT_EQ(answer.yes, false);
  EXPECT_EQ(answer.step("gdr-receive")->input("gdr of the NIC"), "0");
  EXPECT_TRUE(answer.whatIfs.empty());  // no variable helps
  EXPECT_THAT(answer.notes, Contains(AllOf(HasSubstr("nvidia-peermem"), HasSubstr("DMA-BUF"))));
}

TEST(WhyGdr, OldGpusReadBySettingOnly) {
  const Answer answer = ask("v100x4-rootport-arm", 2, {"gdr", "gpu0", "nic0"});
  EXPECT_EQ(answer.step("gdr-send")->yes, false);
}

// A job of one host drops its NICs; the question is about what they would do.
TEST(WhyGdr, AnswersForTwoHostsWhereOneUsesNoNic) {
  const Answer answer = ask("seed-a40x2", 1, {"gdr", "gpu1", "nic2"});
  EXPECT_EQ(answer.yes, false);
  EXPECT_THAT(answer.notes.back(), HasSubstr("two such hosts"));
}

TEST(WhyP2p, TellsLevelTransportAndWhatTheVariableWouldDo) {
  const Answer answer = ask("a40x8-pcie", 1, {"p2p", "gpu0", "gpu5"});
  EXPECT_EQ(answer.yes, false);
  EXPECT_THAT(answer.headline, HasSubstr("shared memory (SHM)"));
  EXPECT_EQ(answer.step("p2p-level")->input("distance"), "SYS (7)");
  EXPECT_EQ(answer.step("shm")->yes, true);
  ASSERT_EQ(answer.whatIfs.size(), 1u);
  EXPECT_EQ(answer.whatIfs[0].setting, "NCCL_P2P_LEVEL=SYS");
  EXPECT_THAT(answer.whatIfs[0].outcome, HasSubstr("direct access (P2P)"));
}

TEST(WhyP2p, TwoGpusOfAnAmdMachineReachAcrossCpus) {
  const Answer answer = ask("rtx2-rootport-amd", 1, {"p2p", "gpu0", "gpu1"});
  EXPECT_EQ(answer.yes, true);
  EXPECT_THAT(answer.step("p2p-level")->threshold, HasSubstr("AMD machines with up to two GPUs"));
}

TEST(WhyP2p, ComparesWithTheNics) {
  const Answer answer = ask("net-faster-than-p2p", 2, {"p2p", "gpu0", "gpu2"});
  EXPECT_THAT(answer.headline, HasSubstr("the network (NET)"));
  const AnswerStep* shm = answer.step("shm");
  ASSERT_NE(shm, nullptr);
  EXPECT_EQ(shm->yes, false);
  EXPECT_NE(shm->input("between the GPUs"), "");
  EXPECT_EQ(shm->variable, Setting::kNetDisableIntra);
  EXPECT_EQ(answer.whatIfs.back().setting, "NCCL_NET_DISABLE_INTRA=1");
}

TEST(WhyP2p, GpusOfTwoNodesThatAreOneHostShareMemorySince230) {
  const Settings settings = Settings::fromPairs({{"XYLEM_NCCL", "2.30.7"}});
  const Answer answer = askWith("net-faster-than-p2p", 2, {"p2p", "gpu0", "gpu2"}, settings);
  EXPECT_THAT(answer.headline, HasSubstr("shared memory (SHM)"));
  EXPECT_EQ(answer.step("shm"), nullptr);
  const AnswerStep* apart = answer.step("shm-apart");
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(apart->yes, true);
  EXPECT_NE(apart->input("node of GPU 0"), apart->input("node of GPU 2"));
  EXPECT_EQ(answer.whatIfs.back().setting, "NCCL_SHM_DISABLE=1");
  EXPECT_THAT(answer.whatIfs.back().outcome, HasSubstr("the network (NET)"));
  const Answer all = askWith("net-faster-than-p2p", 2, {"p2p"}, settings);
  for (const auto& row : all.tables.front().rows) EXPECT_EQ(row.back(), "-") << row.front();
}

TEST(WhyNic, CountsTheNicsOfAHostThatIsSeveralNodesOnce) {
  EXPECT_THAT(ask("uplink-x8", 2, {"nic"}).headline, HasSubstr("the rings use 2 of 2 NICs"));
  const Answer answer = ask("uplink-x8", 2, {"nic", "gpu3"});
  EXPECT_EQ(answer.step("nics-in-rings")->yes, true);
  for (const auto& row : answer.tables.back().rows) {
    EXPECT_NE(row[4], "none") << row.front();
    EXPECT_NE(row[5], "0") << row.front();
    EXPECT_EQ(row.back(), "") << row.front();
  }
}

TEST(WhyNodesOfOneHost, AnswersAgree) {
  EXPECT_THAT(askNow("uplink-x8", 2, {"path", "gpu0", "gpu4"}).headline,
              HasSubstr("through the memory of their host"));
  EXPECT_THAT(askNow("uplink-x8", 2, {"path", "gpu0", "gpu4"}, {{"NCCL_SHM_DISABLE", "1"}}).headline,
              HasSubstr("over the network only"));
  EXPECT_THAT(askNow("uplink-x8", 2, {"pxn", "gpu0", "nic1"}).step("nic-owner")->text,
              HasSubstr("the GPUs whose own NIC NET 1 is are in another node of the host"));
  // The headlines are alike, so the difference is a row.
  const Answer all = askNow("uplink-x8", 2, {"p2p"});
  EXPECT_NE(all.before, all.headline);
  EXPECT_THAT(all.before, HasSubstr("the network: GPU 4, GPU 5"));
}

TEST(WhyPxn, TellsOfTheGpusOwnPath) {
  EXPECT_THAT(askNow("gb200x4", 2, {"pxn", "gpu0", "nic0"}).step("pxn")->input("own path"), HasSubstr("P2C"));
}

// NCCL drops the NICs of a job on one host, or keeps them unused.
TEST(WhyNic, OfAJobOnOneHostIsAnsweredForTwo) {
  for (const char* version : {"2.27.7", "2.30.7"}) {
    const Answer answer = askNow("dgxh100", 1, {"nic", "gpu0"}, {{"XYLEM_NCCL", version}});
    EXPECT_EQ(answer.hosts, 2) << version;
    EXPECT_EQ(answer.ranks, 16) << version;
    EXPECT_THAT(answer.notes.back(), HasSubstr("the answer for a job of two such hosts"));
    EXPECT_EQ(answer.step("nics-in-rings")->yes, true) << version;
  }
  const Answer none = askNow("gpu1-nonic", 1, {"nic"});
  EXPECT_EQ(none.hosts, 1);
  EXPECT_TRUE(none.versionRules.empty());
}

TEST(WhyCount, NvlsAddsChannelsInOldVersionsOnly) {
  EXPECT_EQ(askNow("gb200x4", 2, {"count"}).step("nvls")->threshold, "");
  EXPECT_NE(askNow("gb200x4", 2, {"count"}, {{"XYLEM_NCCL", "2.27.7"}}).step("nvls")->threshold, "");
}

TEST(WhyP2p, SaysWhatSwitchedSharedMemoryOff) {
  const std::map<std::string, std::string> settings = {{"NCCL_SHM_DISABLE", "1"},
                                                       {"NCCL_NET_DISABLE_INTRA", "1"}};
  const Answer answer = ask("a40x8-pcie", 2, {"p2p", "gpu0", "gpu5"}, settings);
  EXPECT_THAT(answer.headline, HasSubstr("the network (NET)"));
  EXPECT_EQ(answer.step("shm")->variable, Setting::kShmDisable);
  EXPECT_EQ(answer.whatIfs.back().setting, "NCCL_SHM_DISABLE=0");
  EXPECT_THAT(answer.whatIfs.back().outcome, HasSubstr("shared memory (SHM)"));
}

TEST(WhyP2p, OtherHostsAreReachedOverTheNetwork) {
  const Answer answer = ask("seed-a40x2", 2, {"p2p", "gpu0", "gpu3"});
  EXPECT_EQ(answer.yes, false);
  EXPECT_EQ(answer.step("host")->input("host of GPU 3"), "1");
}

TEST(WhyPxn, NamesTheRelayAndItsProxy) {
  const Answer answer = ask("dgxh100", 2, {"pxn", "gpu0", "nic1"});
  EXPECT_EQ(answer.yes, true);
  const AnswerStep* pxn = answer.step("pxn");
  EXPECT_EQ(pxn->input("relay"), "GPU 1");
  EXPECT_EQ(pxn->input("own path"), "PHB (6), 48.0 GB/s");
  EXPECT_EQ(pxn->variable, Setting::kPxnDisable);
  EXPECT_THAT(answer.step("nic-owner")->text, HasSubstr("GPU 1"));
  EXPECT_EQ(answer.whatIfs[0].setting, "NCCL_PXN_DISABLE=1");
}

TEST(WhyPxn, ComparesByTheNumbersOfTheVersion) {
  const auto notes = [](const char* version) {
    return askWith("dgxb200", 2, {"pxn", "gpu0", "nic1"}, Settings::fromPairs({{"XYLEM_NCCL", version}}))
        .notes;
  };
  EXPECT_THAT(notes("2.25.1"), Contains(HasSubstr("it (5) is nearer than PHB (6)")));
  EXPECT_THAT(notes("2.30.7"), Contains(HasSubstr("it (7) is nearer than PHB (8)")));
}

TEST(WhyPxn, EveryRefusalHasItsReason) {
  EXPECT_THAT(ask("dgxh100", 2, {"pxn", "gpu1", "nic1"}).headline, HasSubstr("the NIC is its own"));
  EXPECT_THAT(ask("dgxh100", 2, {"pxn", "gpu0", "nic1"}, {{"NCCL_PXN_DISABLE", "1"}}).headline,
              HasSubstr("switched off (NCCL_PXN_DISABLE)"));
  EXPECT_THAT(ask("a40x8-pcie", 2, {"pxn", "gpu7", "nic0"}).headline, HasSubstr("NVLink does not join"));
}

TEST(WhyPath, EveryLinkHasItsLineAndItsPart) {
  const Answer answer = ask("dgx1v", 2, {"path", "gpu0", "gpu5"});
  EXPECT_THAT(answer.headline, HasSubstr("NVB, 20.0 GB/s, 2 links"));
  const AnswerTable& hops = answer.tables.at(0);
  ASSERT_EQ(hops.rows.size(), 2u);
  EXPECT_EQ(hops.rows[0][1], "GPU 1");
  EXPECT_EQ(hops.rows[1][4], "NVB");
  EXPECT_EQ(lineOf(*answer.step("path-bandwidth")), 6);  // the nvlink element
  EXPECT_THAT(answer.step("path-bandwidth")->sources[0].element, HasSubstr("count=\"1\""));
}

TEST(WhyPath, SaysThatItLeadsThroughAnotherGpu) {
  const Answer answer = ask("dgxh100", 2, {"path", "gpu0", "mlx5_2"});
  EXPECT_THAT(answer.headline, HasSubstr("PXN"));
  EXPECT_EQ(answer.step("path-type")->input("relay"), "GPU 2");
  EXPECT_NE(answer.step("pxn"), nullptr);
}

TEST(WhyNic, TellsWhoUsesWhichNicByWhoseProxy) {
  const Answer answer = ask("dgxh100", 2, {"nic", "gpu4"});
  EXPECT_THAT(answer.headline, HasSubstr("NET 4"));
  const AnswerTable* sends = tableNamed(answer, "NICs of sends");
  ASSERT_NE(sends, nullptr);
  ASSERT_EQ(sends->rows.size(), 8u);
  EXPECT_EQ(sends->rows[0][0], "GPU 8");
  EXPECT_EQ(sends->rows[0][1], "NET 0");  // where it is wanted
  EXPECT_EQ(sends->rows[0][2], "rank 0");
  EXPECT_THAT(sends->rows[0][4], HasSubstr("NCCL_P2P_PXN_LEVEL=2"));
  const AnswerTable* nics = tableNamed(answer, "NICs of the host");
  ASSERT_EQ(nics->rows.size(), 8u);
  EXPECT_EQ(answer.step("nics-in-rings")->yes, true);
}

TEST(WhyNic, PicksByDeviceNumberAmongEquallyNear) {
  const Answer answer = ask("dgxh100-4nic", 2, {"nic", "gpu6"});
  EXPECT_EQ(answer.step("nearest-nics")->sources.size(), 4u);
  const AnswerStep* pick = answer.step("nic-of-device");
  EXPECT_EQ(pick->input("device"), "6");
  EXPECT_EQ(pick->input("nearest NICs"), "4");
  EXPECT_THAT(pick->text, HasSubstr("bits reversed"));
}

// Two GPUs of a virtual machine with eight NICs: only the NICs that are nearest to one of them are used.
TEST(WhyNic, SaysWhyOnlySomeAreUsed) {
  const Answer answer = ask("dgxa100-2gpu", 2, {"nic", "gpu0"});
  const AnswerStep* used = answer.step("nics-in-rings");
  EXPECT_EQ(used->yes, false);
  EXPECT_EQ(used->input("NICs"), "8");
  EXPECT_EQ(used->input("used by rings"), "2");
  const AnswerTable* nics = tableNamed(answer, "NICs of the host");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 2")[0][1], "mlx5_2");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 2")[0][4], "none");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 2")[0][7], "farther than PXN from every GPU of the job");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 1")[0][7], "no channel was left for it");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 0")[0][7], "");
}

TEST(WhyNic, OnePeerOnly) {
  const Answer answer = ask("dgxh100", 2, {"nic", "gpu4", "gpu9"}, {{"NCCL_PXN_DISABLE", "1"}});
  const AnswerTable* sends = tableNamed(answer, "NICs of sends");
  ASSERT_EQ(sends->rows.size(), 1u);
  EXPECT_EQ(sends->rows[0][1], "NET 4");
  EXPECT_EQ(sends->rows[0][4], "its own nearest NIC");
}

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
  const char* const machines[] = {
      "dgx1v",           "dgx1v-5gpu", "dgx2",    "summit",    "rand-012", "rtx8-rootport-amd",
      "eth-direct-1cpu", "gpu1-nonic", "gh200x4", "dgx1p-sm60"};
  for (std::size_t i = 0; i < std::size(machines); i += testing::kMachineStride) {
    const char* const machine = machines[i];
    for (const char* graph : {"ring", "tree"})
      for (int hosts : {1, 2}) {
        const Answer answer = ask(machine, hosts, {"channels", graph});
        ASSERT_NE(answer.step("search-end"), nullptr) << machine;
        EXPECT_NE(askWith(machine, hosts, {"channels", graph}, Settings()).headline, "");
        EXPECT_NE(answer.step("search-end")->text, "it was not searched") << machine;
      }
  }
}

// bandwidthLeft() takes from the links what the search took: no link has less than nothing left.
TEST(WhyRoom, TheChannelsFitTheirLinks) {
  for (const char* machine :
       {"dgx1v", "dgxh100", "dgxa100", "summit", "a40x8-pcie", "seed-mix4-sm90", "dgx2"})
    for (int hosts : {1, 2}) {
      const std::string file = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + machine + ".xml";
      const plan::Plan plan =
          plan::planJob(plan::identicalHosts(topology::readTopology(file), hosts), Settings());
      EXPECT_TRUE(bandwidthLeft(plan.hostOf(0), search::GraphKind::kRing).exact) << machine << hosts;
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

TEST(WhyCount, SendAndReceiveFollowTheirVersion) {
  const auto step = [](const char* machine, int hosts, const char* version) {
    return *askWith(machine, hosts, {"count"}, Settings::fromPairs({{"XYLEM_NCCL", version}}))
                .step("send-receive");
  };
  EXPECT_THAT(step("dgxh100", 2, "2.28.9").text, HasSubstr("2 per peer: as many NICs as fill a GPU's link"));
  const AnswerStep later = step("dgxh100", 2, "2.30.7");
  EXPECT_THAT(later.text, HasSubstr("4 per peer: as many as the NICs of GPU 0 fill at 14 GB/s each"));
  EXPECT_EQ(later.input("wanted per peer"), "4");
  EXPECT_EQ(later.variable, Setting::kNChannelsPerNetPeer);
  EXPECT_THAT(step("dgxh100", 8, "2.30.7").text, HasSubstr("2 per peer"))
      << "32 channels for eight peers each";
  EXPECT_THAT(step("dgxh100", 8, "2.30.7").text,
              HasSubstr("halved while 64 peers need more than all channels"));
  EXPECT_THAT(step("dgxh100", 1, "2.30.7").text,
              HasSubstr("twice the NVLinks' worth of the path from GPU 1 to GPU 0"));
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
  EXPECT_EQ(answer.tables[0].rows.size() + answer.tables[2].rows.size(), 21u);
  EXPECT_EQ(answer.tables[0].rows[0][0], "Tree");
  const auto nvls = rowsWith(answer.tables[2], 0, "NVLSTree");
  ASSERT_EQ(nvls.size(), 3u);
  EXPECT_THAT(nvls[2][2], HasSubstr("needs NVLink multicast"));
  EXPECT_EQ(answer.tables[1].rows[0], (std::vector<std::string>{"384.0", "8 channels of 48.0 GB/s"}));
  EXPECT_EQ(answer.whatIfs[0].setting, "NCCL_ALGO=Ring");
}

TEST(WhyAlgorithm, ReckonsTheBandwidthStepByStep) {
  for (const char* machine : {"dgxh100", "seed-a40x2", "gb200x4", "dgx1v"})
    for (const char* collective : {"AllReduce", "AllGather", "Broadcast"})
      for (const char* size : {"64K", "1G"})
        for (const int hosts : {1, 2, 4}) {
          const Answer answer = ask(machine, hosts, {"algo", collective, size});
          const AnswerTable& terms = answer.tables[1];
          ASSERT_GE(terms.rows.size(), 2u);
          // The last row but one is the bandwidth of the fastest candidate; the last one has it as bus bandwidth.
          EXPECT_EQ(terms.rows[terms.rows.size() - 2][0], answer.tables[0].rows[0][5])
              << machine << " " << collective << " " << size << " " << hosts;
        }
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
}  // namespace xylem::why
