// xylem plan under NCCL_GRAPH_DUMP_FILE and NCCL_GRAPH_FILE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string replacedAll(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(GraphFileCommandTest, WhatIsDumpedCanBeChangedAndGivenBack) {
  const ScratchFile host("host.xml", smallHost());
  const std::string file = (host.folder() / "graphs.xml").string();
  EXPECT_EQ(runCommand({"plan", host.path(), "--nodes", "2"}, {{"NCCL_GRAPH_DUMP_FILE", file}}).status, 0);
  const std::string dumped = contents(file);
  EXPECT_THAT(dumped, AllOf(StartsWith("<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\""),
                            HasSubstr("<net dev=\"0\"/>\n      <gpu dev=\"0\"/>\n      <gpu dev=\"0x1\"/>")));

  std::ofstream(file) << replacedAll(dumped, "<gpu dev=\"0\"/>\n      <gpu dev=\"0x1\"/>",
                                     "<gpu dev=\"0x1\"/>\n      <gpu dev=\"0\"/>");
  const Outcome run =
      runCommand({"plan", host.path(), "--nodes", "2"}, {{"NCCL_GRAPH_FILE", file}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, AllOf(HasSubstr("from the graph file"), HasSubstr("NET 0  1 0"),
                                HasSubstr("channels loaded from XML graph")));
}

TEST(GraphFileCommandTest, OnlyTheNamedRankOfTheJobDumps) {
  const ScratchFile host("host.xml", smallHost());
  const std::filesystem::path file = host.folder() / "graphs.xml";
  const auto dumpOf = [&](const std::string& rank) {
    return runCommand({"plan", host.path()},
                      {{"NCCL_GRAPH_DUMP_FILE", file.string()}, {"NCCL_GRAPH_DUMP_FILE_RANK", rank}});
  };
  EXPECT_EQ(dumpOf("2").status, 0);  // ranks 0 and 1
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(dumpOf("1").status, 0);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(GraphFileCommandTest, SaysWhatIsWrongWithAFileAndWhere) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome missing = runCommand({"plan", host.path()}, {{"NCCL_GRAPH_FILE", "/no/such/graphs.xml"}});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.errors,
              AllOf(HasSubstr("/no/such/graphs.xml: found nothing to read"), HasSubstr("NCCL_GRAPH_FILE")));
  const Outcome topology = runCommand({"plan", host.path()}, {{"NCCL_GRAPH_FILE", host.path()}});
  EXPECT_EQ(topology.status, 2);
  EXPECT_THAT(topology.errors, HasSubstr("host.xml:1: found the element system as the root"));
}

TEST(GraphFileCommandTest, WarnsOfWhatItLeavesOut) {
  const ScratchFile host("host.xml", smallHost());
  const ScratchFile graphs("graphs.xml", "<graphs version=\"1\">\n<disk/>\n</graphs>\n");
  const Outcome run = runCommand({"plan", host.path()}, {{"NCCL_GRAPH_FILE", graphs.path()}});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("Ignoring element disk ("));
  EXPECT_THAT(run.output, Not(HasSubstr("from the graph file")));
}

TEST(GraphFileCommandTest, SaysWhenItCannotWrite) {
  const ScratchFile host("host.xml", smallHost());
  const Outcome run = runCommand({"plan", host.path()},
                                 {{"NCCL_GRAPH_DUMP_FILE", host.folder().string() + "/no/graphs.xml"}});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("cannot write "));
}

}  // namespace
}  // namespace xylem::testing
