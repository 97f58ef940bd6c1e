// The version of NCCL that commands plan for: --nccl, XYLEM_NCCL, xylem versions, and what an upgrade changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string zooMachine(const std::string& name) { return XYLEM_SOURCE_DIR "/topologies/" + name; }

nlohmann::json planned(const std::vector<std::string>& more,
                       const std::map<std::string, std::string>& environment = {}) {
  std::vector<std::string> words = {"plan", zooMachine("gh200x2.xml"), "--nodes", "2", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome run = runCommand(words, environment);
  EXPECT_EQ(run.status, 0) << run.errors;
  return nlohmann::json::parse(run.output);
}

TEST(VersionOptionTest, ChoosesTheRules) {
  const nlohmann::json old = planned({"--nccl", "2.25.1"});
  EXPECT_FALSE(old["input"].contains("nccl"));
  EXPECT_EQ(old["host"]["graphs"]["ring"]["typeInter"], "PHB");
  const nlohmann::json later = planned({"--nccl", "2.27.7"});
  EXPECT_EQ(later["input"]["nccl"], "2.27.7");
  EXPECT_EQ(later["host"]["graphs"]["ring"]["typeInter"], "P2C");
  EXPECT_EQ(planned({}, {{"XYLEM_NCCL", "2.27.7"}}), later);
  EXPECT_EQ(planned({"--nccl", "2.27"}), later) << "a series means its known version";
}

TEST(VersionOptionTest, TellsWhichReleaseAnswersForAnother) {
  const std::string host = zooMachine("gh200x2.xml");
  const Outcome patch = runCommand({"plan", host, "--nccl", "2.28.3"});
  EXPECT_EQ(patch.status, 0);
  EXPECT_THAT(patch.errors, AllOf(HasSubstr("2.28.3"), HasSubstr("2.28.9"), HasSubstr("NVLS needs three")));
  const Outcome wrong = runCommand({"plan", host, "--nccl", "newest"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("--nccl"), HasSubstr("`newest`"), HasSubstr("2.27.7")));
  const Outcome variable = runCommand({"plan", host}, {{"XYLEM_NCCL", "two"}});
  EXPECT_EQ(variable.status, 2);
  EXPECT_THAT(variable.errors, HasSubstr("XYLEM_NCCL=two"));
}

TEST(VersionOptionTest, IsTheNewestByDefault) {
  EXPECT_EQ(planned({})["input"]["nccl"], "2.30.7");
  EXPECT_EQ(planned({"--nccl", "2.30.7"}), planned({}));
}

TEST(VersionOptionTest, IsNamedInAnswers) {
  const std::string host = zooMachine("gh200x2.xml");
  const std::map<std::string, std::string> environment = {{"NCCL_CROSS_NIC", "0"}};
  const std::vector<std::vector<std::string>> commands = {{"plan", host},
                                                          {"plan", host, "--rank", "1"},
                                                          {"tune", host, "--sizes", "8"},
                                                          {"why", host, "count"},
                                                          {"repair", host},
                                                          {"optimize", host},
                                                          {"preflight", "--host", host}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--nccl", "2.28.9", "--nodes", "2"});
    if (words.front() == "preflight") words.resize(words.size() - 2);
    const Outcome run = runCommand(words, environment);
    EXPECT_THAT(run.output,
                AllOf(HasSubstr("\nplanned as NCCL 2.28.9\n"), HasSubstr("\nset: NCCL_CROSS_NIC=0\n")))
        << words.front();
    if (words.size() > 3 && words[2] == "--rank") continue;  // its JSON is that of a plan
    words.push_back("--json");
    const nlohmann::json json = nlohmann::json::parse(runCommand(words, environment).output);
    const nlohmann::json& named = json.contains("input") ? json["input"]
                                  : json.contains("job") ? json["job"]
                                                         : json;
    EXPECT_EQ(named["nccl"], "2.28.9") << words.front();
    EXPECT_EQ(named["settings"], nlohmann::json({{"NCCL_CROSS_NIC", "0"}})) << words.front();
  }
}

TEST(VersionOptionTest, SaysWhichVariablesTheVersionDoesNotKnow) {
  const std::string host = zooMachine("seed-a40x2.xml");
  const Outcome old = runCommand({"plan", host, "--nccl", "2.27.7"}, {{"NCCL_NETDEVS_POLICY", "ALL"}});
  EXPECT_EQ(old.status, 0);
  EXPECT_THAT(old.errors,
              HasSubstr("NCCL_NETDEVS_POLICY (environment) is no variable of NCCL 2.27.7: it exists "
                        "since NCCL 2.28"));
  EXPECT_EQ(runCommand({"plan", host}, {{"NCCL_NETDEVS_POLICY", "ALL"}}).errors, "");
  // One that Xylem does not read, and that is gone.
  EXPECT_THAT(
      runCommand({"plan", host}, {{"NCCL_SHM_USE_CUDA_MEMCPY", "1"}}).errors,
      HasSubstr("NCCL_SHM_USE_CUDA_MEMCPY (environment) is no variable of NCCL 2.30.7: it exists until"));
}

TEST(VersionOptionTest, SettingsAreThoseOfTheVersion) {
  const auto settingsOf = [](const std::string& version) {
    return nlohmann::json::parse(runCommand({"settings", "--json", "--nccl", version}).output);
  };
  const auto valueOf = [](const nlohmann::json& json, const std::string& name) -> nlohmann::json {
    for (const nlohmann::json& row : json["settings"])
      if (row["name"] == name) return row["default"];
    return nullptr;
  };
  const nlohmann::json old = settingsOf("2.26.2"), later = settingsOf("2.28");
  EXPECT_EQ(old["nccl"], "2.26.2");
  EXPECT_EQ(valueOf(old, "NCCL_NET_GDR_C2C"), 0);
  EXPECT_EQ(valueOf(later, "NCCL_NET_GDR_C2C"), 1);
  EXPECT_EQ(valueOf(old, "NCCL_NETDEVS_POLICY"), nullptr);
  EXPECT_EQ(valueOf(later, "NCCL_NETDEVS_POLICY"), "AUTO");
  const Outcome text = runCommand({"settings", "--nccl", "2.26.2", "--set-only"}, {{"NCCL_PXN_C2C", "1"}});
  EXPECT_THAT(text.output, Not(HasSubstr("NCCL_PXN_C2C")));
  EXPECT_THAT(text.errors, HasSubstr("it exists since NCCL 2.27"));
}

// Every answer about an overridden link says so.
TEST(LinkOptionTest, MarksAnswers) {
  const std::string host = zooMachine("l40sx8-pcie.xml");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"plan", host}, {"tune", host, "--sizes", "1M"}, {"why", host, "count"}, {"preflight", host}}) {
    std::vector<std::string> all = words;
    all.insert(all.begin() + 2, {"--link", "CPU-CPU=32"});
    const Outcome run = runCommand(all);
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_THAT(run.output, HasSubstr("an override, 32 GB/s between CPUs instead of the 16")) << words[0];
  }
  const Outcome json = runCommand({"plan", host, "--json", "--link", "CPU-CPU=32"});
  EXPECT_EQ(nlohmann::json::parse(json.output)["host"]["overrides"].size(), 2u);
  EXPECT_FALSE(
      nlohmann::json::parse(runCommand({"plan", host, "--json"}).output)["host"].contains("overrides"));
  const Outcome wrong = runCommand({"plan", host, "--link", "CPU-CPU=much"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("--link"), HasSubstr("CPU-CPU=GB/s")));
  for (const char* number : {"1000001", "1e99", "inf", "nan", "0", "-1"})
    EXPECT_THAT(runCommand({"plan", host, "--link", std::string("CPU-CPU=") + number}).errors,
                AllOf(HasSubstr("--link: found"), HasSubstr("at most 1000000")));
}

TEST(VersionsCommandTest, ListsChanges) {
  const Outcome all = runCommand({"versions"});
  EXPECT_EQ(all.status, 0) << all.errors;
  EXPECT_THAT(all.output, AllOf(HasSubstr("NCCL 2.25.1"), HasSubstr("NCCL 2.30.7"), HasSubstr("27-gdr-c2c"),
                                HasSubstr("NCCL_NET_GDR_C2C=0"), HasSubstr("GH200")));
  const Outcome one = runCommand({"versions", "--nccl", "2.28.9"});
  EXPECT_THAT(one.output, AllOf(HasSubstr("28-pxn-c2c"), Not(HasSubstr("27-gdr-c2c"))));
  const auto json = nlohmann::json::parse(runCommand({"versions", "--json"}).output);
  EXPECT_EQ(json["versions"].size(), 6u);
  EXPECT_EQ(json["versions"][1]["changes"][0]["since"], "2.26.2");
}

TEST(DiffCommandTest, ComparesTwoVersions) {
  const Outcome run = runCommand(
      {"diff", zooMachine("gh200x2.xml"), "--nodes", "2", "--nccl", "2.25.1", "--b", "nccl=2.27.7"});
  EXPECT_EQ(run.status, 1) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("P2C"));
}

TEST(UpgradeCommandTest, NamesTheChangesAndTheVariableBack) {
  const Outcome run = runCommand({"upgrade", zooMachine("gh200x2.xml"), zooMachine("dgxh100.xml"), "--from",
                                  "2.26.2", "--to", "2.27.7", "--json"});
  EXPECT_EQ(run.status, 1) << run.errors;
  const auto machines = nlohmann::json::parse(run.output)["machines"];
  ASSERT_EQ(machines.size(), 2u);
  EXPECT_TRUE(machines[0]["differs"]);
  std::vector<std::string> causes;
  for (const auto& cause : machines[0]["causes"]) causes.push_back(cause["name"]);
  EXPECT_THAT(causes, Contains("27-gdr-c2c"));
  EXPECT_THAT(machines[0]["parts"], Contains("rings"));
  EXPECT_EQ(machines[0]["allReduce"].size(), 3u);
  EXPECT_FALSE(machines[1]["differs"]);
  EXPECT_THAT(machines[1]["causes"], IsEmpty());
  EXPECT_THAT(machines[1]["assumptions"].dump(), AllOf(HasSubstr("2 hosts"), HasSubstr("NVLS")));
}

TEST(UpgradeCommandTest, OfAMachineWithoutNicsAsksAboutOneHost) {
  const Outcome run =
      runCommand({"upgrade", zooMachine("a100x4-mesh.xml"), "--from", "2.25.1", "--to", "2.30.7", "--json"});
  const auto machine = nlohmann::json::parse(run.output)["machines"][0];
  EXPECT_THAT(machine["assumptions"], IsEmpty());
  EXPECT_FALSE(machine.contains("errorAfter")) << run.output;
}

TEST(UpgradeCommandTest, RefusesWhatIsNoUpgrade) {
  const Outcome run =
      runCommand({"upgrade", zooMachine("gh200x2.xml"), "--from", "2.30.7", "--to", "2.27.7"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("--to"), HasSubstr("newer version than 2.30.7")));
  for (const std::string option : {"--from", "--to"}) {
    const std::string other = option == "--to" ? "--from" : "--to";
    const Outcome unknown =
        runCommand({"upgrade", zooMachine("gh200x2.xml"), option, "foo", other, "2.27.7"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.errors, HasSubstr(option + ": found `foo`"));
  }
}

TEST(UpgradeCommandTest, GoesOnPastAFileThatCannotBeUsed) {
  const ScratchFile bad("bad.xml", "<system>");
  const Outcome run =
      runCommand({"upgrade", bad.path(), zooMachine("dgxh100.xml"), "--from", "2.27.7", "--to", "2.30.7"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, AllOf(StartsWith("NCCL 2.27.7 -> 2.30.7\n"), HasSubstr("dgxh100.xml")));
  EXPECT_THAT(run.errors, HasSubstr("left out: " + bad.path()));
  const Outcome alone = runCommand({"upgrade", bad.path(), "--from", "2.27.7", "--to", "2.30.7"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.output, IsEmpty());
}

TEST(UpgradeCommandTest, NamesTheChangesBehindEachPart) {
  const std::vector<std::string> words = {"upgrade", zooMachine("dgxh100.xml"), "--from", "2.27.7", "--to",
                                          "2.30.7"};
  const Outcome text = runCommand(words);
  EXPECT_THAT(text.output, AllOf(HasSubstr("\nsend/receive  29-p2p-channels\n"),
                                 HasSubstr("\ntimes         28-nvls-model, 28-latency\n")));
  std::vector<std::string> forPrograms = words;
  forPrograms.push_back("--json");
  const auto machine = nlohmann::json::parse(runCommand(forPrograms).output)["machines"][0];
  EXPECT_EQ(machine["causesOfParts"]["send/receive"], nlohmann::json({"29-p2p-channels"}));
}

TEST(UpgradeCommandTest, IsASectionOfTheDrawnPage) {
  const std::vector<std::string> words = {"draw",  zooMachine("dgxh100.xml"), "--nodes", "2", "--from",
                                          "2.27.7"};
  std::vector<std::string> facts = words;
  facts.push_back("--json");
  const auto upgrade = nlohmann::json::parse(runCommand(facts).output)["upgrade"];
  EXPECT_EQ(upgrade["from"], "2.27.7");
  EXPECT_EQ(upgrade["to"], "2.30.7");
  EXPECT_EQ(upgrade["causes"].back()["name"], "29-p2p-channels");
  EXPECT_EQ(upgrade["causes"].back()["parts"], nlohmann::json({"send/receive"}));
  EXPECT_EQ(upgrade["times"].size(), 3u);
  EXPECT_THAT(runCommand(words).output, HasSubstr("id=\"upgrade-causes\""));
  EXPECT_THAT(runCommand({"draw", zooMachine("dgxh100.xml"), "--nccl", "2.27.7", "--from", "2.28.9"}).errors,
              HasSubstr("--from: found 2.28.9; expected a version before 2.27.7"));
}

TEST(VersionsCommandTest, ListsAlsoWhatNoPlanShows) {
  const auto json = nlohmann::json::parse(runCommand({"versions", "--json", "--nccl", "2.29.7"}).output);
  std::map<std::string, std::string> concerns;
  for (const auto& change : json["versions"][0]["changes"]) concerns[change["name"]] = change["concerns"];
  EXPECT_EQ(concerns["29-split"], "plans");
  EXPECT_EQ(concerns["29-ib-order"], "detection");
  EXPECT_EQ(concerns["29-log"], "texts");
  EXPECT_EQ(concerns["29-allgatherv"], "execution");
}

TEST(VersionOptionTest, DetectAndLintKnowWhatEachVersionWrites) {
  const Outcome file = runCommand({"detect", "--devices", "2", "--nccl", "2.30.7"});
  EXPECT_EQ(file.status, 0) << file.errors;
  EXPECT_THAT(file.output, HasSubstr("mlopart=\"-1\""));
  EXPECT_THAT(runCommand({"detect", "--devices", "2"}).output, Not(HasSubstr("mlopart")));
  const std::string parts = XYLEM_SOURCE_DIR "/tests/fuzz/corpus/topology/edge-parts.xml";
  EXPECT_EQ(runCommand({"lint", parts}).status, 0);
  EXPECT_THAT(runCommand({"lint", parts, "--nccl", "2.29.7"}).output,
              AllOf(HasSubstr("newer-attribute"), HasSubstr("NCCL 2.29.7 does not know it")));
}

}  // namespace
}  // namespace xylem::testing
