// xylem show and xylem draw: the tree, the matrix and the JSON of a machine, and the files that show a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ShowCommandTest, DrawsTheTreeOfTheMachine) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"show", host.path()});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, IsEmpty());
  EXPECT_THAT(run.output, HasSubstr(R"(
CPU 0  Intel family 6 model 85, NUMA node 0, CPUs 0-3,8-15
`- PCI 24.0 - switch 0000:10:00.0  PLX 8747
   |- PCI 24.0 - GPU 0  0000:11:00.0, dev 0, sm 80, GPU Direct RDMA
   |- PCI 24.0 - GPU 1  0000:12:00.0, dev 1, sm 80, GPU Direct RDMA
   `- PCI 24.0 - NIC 0000:13:00.0
      `- NET 12.5 - NET 0  mlx5_0, 100 Gb/s, port 1, GPU Direct RDMA
)"));
}

TEST(ShowCommandTest, MatrixOfPathTypesHasALegendOfThoseThatOccur) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"show", host.path()});
  EXPECT_THAT(run.output, HasSubstr(R"(
      GPU0  GPU1  NET0  near CPU
GPU0     X   PIX   PIX  0 (0-3,8-15)
GPU1   PIX     X   PIX  0 (0-3,8-15)
NET0   PIX   PIX     X  0 (0-3,8-15)
)"));
  EXPECT_THAT(run.output, AllOf(HasSubstr("PIX  through one PCI switch"), Not(HasSubstr("NVL  "))));
}

TEST(ShowCommandTest, BandwidthIsASecondMatrix) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"show", host.path(), "--bandwidth"});
  EXPECT_THAT(run.output, HasSubstr("GPU0     X  24.0  12.5  0"));
}

TEST(ShowCommandTest, PathsObeyTheSettings) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"show", host.path()}, {{"NCCL_P2P_DISABLE", "1"}});
  EXPECT_THAT(run.output, HasSubstr("GPU0     X   PHB   PIX"));
}

TEST(ShowCommandTest, JsonHasNodesLinksAndPaths) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"show", host.path(), "--json"});
  ASSERT_EQ(run.status, 0) << run.errors;
  const auto machine = nlohmann::json::parse(run.output);
  EXPECT_EQ(machine["counts"]["GPU"], 2);
  EXPECT_EQ(machine["nodes"][0]["name"], "GPU/0-11000");
  EXPECT_EQ(machine["links"][0]["bandwidth"], 24.0);
  EXPECT_EQ(machine["paths"][1]["type"], "PIX");
  EXPECT_EQ(machine["paths"][1]["via"].size(), 2u);
}

TEST(ShowCommandTest, ShowsThisMachineWithoutAFile) {
  const Outcome bare = runCommand({"show"});
  EXPECT_EQ(bare.status, 0) << bare.errors;
  EXPECT_THAT(bare.output, AllOf(HasSubstr("this machine: "), HasSubstr("host device")));
  EXPECT_EQ(runCommand({"show", "-"}).output, bare.output);
}

TEST(ShowCommandTest, VeryManyDevicesAreCountedInsteadOfListed) {
  const Outcome run = runCommand({"show"}, {{"XYLEM_HOST_DEVICES", "100"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("too many for a matrix"));
}

TEST(Draw, WritesWhatTheNameOfTheFileSays) {
  const ScratchFile host("host.xml", smallHost());
  const auto made = [&](const std::string& name) {
    const std::string file = (host.folder() / name).string();
    const Outcome run = runCommand({"draw", host.path(), "--nodes", "2", "-o", file});
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_EQ(run.output + run.errors, "");
    return contentsOf(file);
  };
  EXPECT_THAT(made("a.html"), AllOf(StartsWith("<!doctype html>"), HasSubstr("4 ranks on 2 hosts"),
                                    HasSubstr("xylem-why-1")));
  EXPECT_THAT(made("a.svg"), AllOf(StartsWith("<svg "), HasSubstr("GPU 1")));
  EXPECT_THAT(made("a.dot"), AllOf(StartsWith("graph machine {"), HasSubstr("GPU 1")));
  EXPECT_EQ(nlohmann::json::parse(made("a.json"))["format"], "xylem-picture-1");
}

TEST(Draw, WritesToStandardOutputWhereNobodyLooks) {
  const ScratchFile host("host.xml", smallHost());
  EXPECT_THAT(runCommand({"draw", host.path()}).output, StartsWith("<!doctype html>"));
  const auto facts = nlohmann::json::parse(runCommand({"draw", host.path(), "-n", "1", "--json"}).output);
  EXPECT_EQ(facts["job"]["ranks"], 2);
  EXPECT_EQ(facts["hosts"][0]["reach"]["cells"][0][1]["way"], "P2P");
  const Outcome person = runCommand({"draw", host.path()}, {{"TERM", "xterm"}}, Stdout::kTerminal);
  EXPECT_EQ(person.status, 2);
}

// A page that was mailed says how to make it again, and what to beware of.
TEST(Draw, SaysHowItWasMade) {
  const ScratchFile host("host.xml", smallHost());
  const std::map<std::string, std::string> environment = {{"SOURCE_DATE_EPOCH", "86400"},
                                                          {"NCCL_MAX_NCHANELS", "2"}};
  const std::string page = runCommand({"draw", host.path(), "--nodes", "3"}, environment).output;
  EXPECT_THAT(page, AllOf(HasSubstr("xylem draw " + host.path() + " --nodes 3"),
                          HasSubstr("1970-01-02 00:00 UTC"), HasSubstr(host.path() + ", SHA-256 "),
                          HasSubstr("planned as NCCL "), HasSubstr("did you mean NCCL_MAX_NCHANNELS?")));
  const auto facts = nlohmann::json::parse(runCommand({"draw", host.path(), "--json"}, environment).output);
  EXPECT_EQ(facts["origin"]["date"], "1970-01-02 00:00 UTC");
  EXPECT_EQ(facts["origin"]["files"][0]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(facts["warnings"].size(), 1u);
  EXPECT_THAT(facts["assumed"][0].get<std::string>(), StartsWith("2 hosts"));
  const ScratchFile other("host.xml", smallHost() + "<!-- changed -->\n");
  EXPECT_NE(nlohmann::json::parse(runCommand({"draw", other.path(), "--json"}).output)["origin"]["files"][0],
            facts["origin"]["files"][0]);
}

TEST(Draw, SaysWhatIsWrong) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome name = runCommand({"draw", host.path(), "-o", "plan.png"});
  EXPECT_EQ(name.status, 2);
  EXPECT_THAT(name.errors, AllOf(HasSubstr("plan.png"), HasSubstr(".svg")));
  const Outcome place = runCommand({"draw", host.path(), "-o", "/proc/nowhere.html"});
  EXPECT_EQ(place.status, 1);
  EXPECT_THAT(place.errors, HasSubstr("/proc/nowhere.html"));
  EXPECT_EQ(runCommand({"draw", "nowhere.xml", "-o", "/dev/null.html"}).status, 2);
  const Outcome from = runCommand({"draw", host.path(), "--from", "2.25.1", "-o", "machine.svg"});
  EXPECT_EQ(from.status, 2);
  EXPECT_THAT(from.errors, HasSubstr("--from: found a comparison for machine.svg"));
}

}  // namespace
}  // namespace xylem::testing
