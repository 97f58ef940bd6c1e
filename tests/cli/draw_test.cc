// xylem draw as people call it: what it writes where, and what it says when it cannot.

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string contentOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Draw, WritesWhatTheNameOfTheFileSays) {
  const ScratchFile host("host.xml", smallHost());
  const auto made = [&](const std::string& name) {
    const std::string file = (host.folder() / name).string();
    const Outcome run = runCommand({"draw", host.path(), "--nodes", "2", "-o", file});
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_EQ(run.output + run.errors, "");
    return contentOf(file);
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
  const auto facts = nlohmann::json::parse(runCommand({"draw", host.path(), "--json"}).output);
  EXPECT_EQ(facts["job"]["ranks"], 2);
  EXPECT_EQ(facts["hosts"][0]["reach"]["cells"][0][1]["way"], "P2P");
  const Outcome person = runCommand({"draw", host.path()}, {{"TERM", "xterm"}}, Stdout::kTerminal);
  EXPECT_EQ(person.status, 2);
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
}

}  // namespace
}  // namespace xylem::testing
