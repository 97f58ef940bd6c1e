// bench_compare as a whole, with the peers that are installed.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "comparison/child_process.h"
#include "comparison/shape.h"

namespace xylem::bench {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kPatience = 240s;

std::string textOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "xylem-compare-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The JSON it wrote; null if it did not finish.
  Json run(std::vector<std::string> words) {
    const std::string file = folder_ + "/out.json", log = folder_ + "/log";
    words.insert(words.begin(), {XYLEM_BENCH_COMPARE, "--quick", "--rounds", "1", "--json", file});
    ChildProcess program({words, {}}, log);
    EXPECT_TRUE(program.hasEnded(Deadline::after(kPatience)));
    std::ifstream in(file);
    const Json document = Json::parse(in, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << tailOf(log);
    return document;
  }

  // Every contender that took part has a positive time and right results in every case.
  static void expectWhole(const Json& document, const std::string& shape, std::size_t cases) {
    std::set<std::string> names;
    for (const Json& contender : document.at("contenders")) names.insert(contender.at("name"));
    EXPECT_TRUE(names.contains("processes")) << document.at("remarks");
    EXPECT_EQ(document.at("cases").size(), cases);
    for (const Json& one : document.at("cases")) {
      EXPECT_EQ(one.at("shape"), shape);
      for (const std::string& name : names) {
        if (!one.at("times").contains(name)) {
          EXPECT_EQ(name, "mailbox") << one << document.at("remarks");  // small operations only
          continue;
        }
        const Json& time = one.at("times").at(name);
        EXPECT_GT(time.at("us").get<double>(), 0) << name;
        EXPECT_GE(time.value("us_apart", 0.0), 0) << name;
        EXPECT_EQ(time.contains("us_apart"), name != "mailbox" && !name.starts_with("mapped")) << name;
        EXPECT_EQ(time.value("wrong", 0), 0) << name << " " << one;
      }
    }
  }

  std::string folder_;
};

TEST_F(Program, MeasuresEveryOperationOnOneHost) {
  const Json document = run({"--sizes", "8,1K"});
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document.at("format"), "xylem-compare-1");
  expectWhole(document, "2", 2 * kUsualOperations.size());
}

TEST_F(Program, MeasuresMoreRanksThanCoresWhoseInputsAreWritten) {
  const Json document = run({"--sizes", "64", "--shape", "4", "--operations", "all_reduce", "--rewrite",
                             "--without", "openmpi-ucx", "mpich"});
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document.at("rewrites"), true);
  expectWhole(document, "4", 1);
}

TEST_F(Program, MeasuresBetweenHosts) {
  const Json document = run({"--sizes", "4K", "--shape", "hosts", "--operations", "all_reduce", "sendrecv"});
  ASSERT_TRUE(document.is_object());
  if (document.at("contenders").empty()) GTEST_SKIP() << document.at("remarks");  // not root
  expectWhole(document, "hosts", 2);
}

TEST_F(Program, LeavesNothingBehindWhenItIsInterrupted) {
  const std::string log = folder_ + "/log";
  ChildProcess program(
      {{"env", "TMPDIR=" + folder_, XYLEM_BENCH_COMPARE, "--quick", "--rounds", "1000", "--operations",
        "all_reduce", "--sizes", "64K", "--without", "openmpi", "openmpi-ucx", "mpich"},
       {}},
      log);
  // All ranks have joined when it measures.
  const Deadline deadline = Deadline::after(60s);
  while (textOf(log).find("all_reduce") == std::string::npos && !program.hasEnded(Deadline::after(20ms)))
    ASSERT_FALSE(deadline.passed()) << tailOf(log);
  program.interrupt();
  EXPECT_TRUE(program.hasEnded(Deadline::after(60s)));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(entry.path().filename(), "log");
  EXPECT_THAT(textOf(log), ::testing::HasSubstr("interrupted"));
}

}  // namespace
}  // namespace xylem::bench
