// xylem why: what it prints, as text and as JSON, and what it says about questions it cannot answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(WhyCommandTest, NamesRuleInputsThresholdVariableAndLine) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run =
      runCommand({"why", host.path(), "gdr", "gpu0", "nic0"}, {{"NCCL_NET_GDR_LEVEL", "LOC"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output,
              AllOf(StartsWith("GPU 0 and NET 0: no GPU Direct RDMA"), HasSubstr("distance 4 > 0"),
                    HasSubstr("gdr-receive"), HasSubstr("NCCL_NET_GDR_LEVEL"), HasSubstr("host.xml:5"),
                    HasSubstr("NCCL_NET_GDR_LEVEL=PIX")));
}

TEST(WhyCommandTest, EveryQuestionHasTextAndJson) {
  const ScratchFile host("host.xml", smallHost());
  const std::vector<std::vector<std::string>> questions = {{"gdr", "gpu0", "nic0"},
                                                           {"p2p", "gpu0", "gpu1"},
                                                           {"pxn", "gpu0", "nic0"},
                                                           {"path", "gpu0", "nic0"},
                                                           {"path", "gpu0", "gpu1"},
                                                           {"nic", "gpu0"},
                                                           {"nic", "gpu0", "gpu3"},
                                                           {"channels"},
                                                           {"channels", "tree"},
                                                           {"channels", "nvls"},
                                                           {"count"},
                                                           {"algo", "all_reduce", "1M"},
                                                           {"rank", "3"}};
  for (const auto& question : questions) {
    std::vector<std::string> words = {"why", host.path(), "--nodes", "2"};
    words.insert(words.end(), question.begin(), question.end());
    const Outcome text = runCommand(words);
    EXPECT_EQ(text.status, 0) << question[0] << ": " << text.errors;
    words.emplace_back("--json");
    const Outcome json = runCommand(words);
    ASSERT_TRUE(nlohmann::json::accept(json.output)) << question[0];
    const auto answer = nlohmann::json::parse(json.output);
    EXPECT_EQ(answer["format"], "xylem-why-1");
    for (const char* key : {"question", "yes", "headline", "steps", "tables", "whatIf", "notes"})
      EXPECT_TRUE(answer.contains(key)) << question[0] << ": " << key;
    EXPECT_THAT(text.output, StartsWith(answer["headline"].get<std::string>()));
    for (const auto& step : answer["steps"])
      for (const char* key : {"rule", "text", "yes", "inputs", "threshold", "variable", "sources"})
        EXPECT_TRUE(step.contains(key)) << question[0] << ": " << key;
  }
}

TEST(WhyCommandTest, TakesMixedHosts) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"why", "--host", host.path(), "--host", host.path() + "@1", "rank", "2"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, StartsWith("rank 2 is device 1 of host 1"));
}

TEST(WhyCommandTest, AnswersForAllGpusAndNics) {
  const std::string h100 = std::string(XYLEM_SOURCE_DIR) + "/topologies/dgxh100.xml";
  const std::string flat = std::string(XYLEM_SOURCE_DIR) + "/topologies/misconfigured/vm-flat.xml";
  const auto ask = [](const std::string& file, const char* question) {
    const Outcome run = runCommand({"why", file, question, "--json"});
    EXPECT_EQ(run.status, 0) << run.errors;
    return nlohmann::json::parse(run.output);
  };
  const auto gdr = ask(h100, "gdr");
  EXPECT_EQ(gdr["yes"], true);
  EXPECT_THAT(gdr["headline"].get<std::string>(), StartsWith("every GPU has GPU Direct RDMA"));
  EXPECT_GE(gdr["tables"][0]["rows"].size(), 8u);
  const auto off = ask(flat, "gdr");
  EXPECT_EQ(off["yes"], false);
  EXPECT_THAT(off["headline"].get<std::string>(),
              AllOf(StartsWith("0 of 8 GPUs have"), HasSubstr("the path is PHB")));
  EXPECT_EQ(off["tables"][0]["rows"][0][2], "no");
  EXPECT_FALSE(off["steps"].empty());

  const auto nic = ask(h100, "nic");
  EXPECT_EQ(nic["headline"], "the rings use 8 of 8 NICs");
  EXPECT_EQ(nic["tables"][0]["rows"].size(), 8u);
  EXPECT_EQ(nic["tables"][1]["columns"][2], "NIC");
  EXPECT_EQ(nic["tables"][1]["rows"].size(), 16u);

  const auto p2p = ask(h100, "p2p");
  EXPECT_EQ(p2p["yes"], true);
  const auto some = ask(std::string(XYLEM_SOURCE_DIR) + "/topologies/a40x8-pcie.xml", "p2p");
  EXPECT_EQ(some["yes"], false);
  EXPECT_THAT(some["headline"].get<std::string>(), HasSubstr("of 28 pairs of GPUs"));
}

TEST(WhyCommandTest, RefusesWhatThereIsNotAndSuggests) {
  const ScratchFile host("host.xml", smallHost());
  const auto errorsOf = [&](std::vector<std::string> question) {
    std::vector<std::string> words = {"why", host.path()};
    words.insert(words.end(), question.begin(), question.end());
    const Outcome run = runCommand(words);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.output, IsEmpty());
    return run.errors;
  };
  EXPECT_THAT(errorsOf({"chanels"}), HasSubstr("did you mean channels?"));
  EXPECT_THAT(errorsOf({"gdr", "gpu7", "nic0"}), HasSubstr("GPU `gpu7`; expected gpu0 to gpu3"));
  EXPECT_THAT(errorsOf({"gdr", "gpu0", "nic9"}), HasSubstr("expected nic0"));
  EXPECT_THAT(errorsOf({"gdr", "gpu0"}), HasSubstr("expected gdr [GPU NIC]"));
  EXPECT_THAT(errorsOf({"algo", "all_redce", "1M"}), HasSubstr("did you mean allreduce?"));
  EXPECT_THAT(errorsOf({"algo", "all_reduce", "1X"}), HasSubstr("size `1x`"));
  EXPECT_THAT(errorsOf({}), HasSubstr("no question; expected one of gdr"));
}

TEST(WhyCommandTest, AHostWithoutNicsHasNone) {
  const Outcome run = runCommand({"why", "gpu1-nonic", "nic"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
}

TEST(WhyCommandTest, HelpListsTheQuestions) {
  const Outcome run = runCommand({"why", "--help"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, AllOf(HasSubstr("gdr [GPU NIC]"), HasSubstr("algo COLLECTIVE SIZE"),
                                HasSubstr("xylem why dgxh100.xml gdr gpu3 nic1")));
}

}  // namespace
}  // namespace xylem::testing
