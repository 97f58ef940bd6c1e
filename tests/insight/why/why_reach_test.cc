// xylem why on GPUs, NICs and the ways between them: facts of the answers on machines of the zoo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "insight/why/why_support.h"

namespace xylem {
namespace {

using namespace testing;  // NOLINT: matchers and the questions
using ::testing::HasSubstr;

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
  EXPECT_EQ(rowsWith(*nics, 0, "NET 2")[0][3], "none");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 2")[0][6], "farther than PXN from every GPU of the job");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 1")[0][6], "no channel was left for it");
  EXPECT_EQ(rowsWith(*nics, 0, "NET 0")[0][6], "");
}

TEST(WhyNic, OnePeerOnly) {
  const Answer answer = ask("dgxh100", 2, {"nic", "gpu4", "gpu9"}, {{"NCCL_PXN_DISABLE", "1"}});
  const AnswerTable* sends = tableNamed(answer, "NICs of sends");
  ASSERT_EQ(sends->rows.size(), 1u);
  EXPECT_EQ(sends->rows[0][1], "NET 4");
  EXPECT_EQ(sends->rows[0][4], "its own nearest NIC");
}

}  // namespace
}  // namespace xylem
