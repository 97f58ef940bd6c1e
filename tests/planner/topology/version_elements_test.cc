// Elements and attributes of topology files that some versions of NCCL know: as each version reads them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/topology/as_written.h"
#include "planner/topology/print.h"
#include "planner_support/machine_text.h"

namespace xylem::topology {
namespace {

using namespace xylem::testing;  // NOLINT: the machines

System systemBy(const std::string& text, const char* version) {
  const auto rules = rules::rulesOf(rules::parseVersion(version).value());
  return buildSystem(completeForJob(parseTopology(text, "test.xml"), *rules), rules);
}

std::string withNet(const std::string& attributes) {
  return machine(
      cpu(0, gpu("0000:11:00.0", 0, 90) +
                 R"(<pci busid="0000:13:00.0" class="0x020000" link_speed="" link_width="16"><nic>)" +
                 R"(<net name="mlx5_0" dev="0" speed="100000" )" + attributes + "/></nic></pci>"));
}

std::vector<int> countsBy(const std::string& attributes, const char* version) {
  const System system = systemBy(withNet(attributes), version);
  return {system.count(NodeType::kNet), system.count(NodeType::kGin), system.count(NodeType::kRma)};
}

// NCCL's plugin for RDMA marks its devices, that for sockets does not.
TEST(VersionElements, DumpsSayWhichNicsTakePartInOneSidedOperations) {
  const auto written = [](const std::string& name, const char* version, const std::string& port = "") {
    std::string text = withNet(port);
    text.replace(text.find("mlx5_0"), 6, name);
    return writeTopology(
        asWrittenBy(*rules::rulesOf(rules::parseVersion(version).value()), parseTopology(text, "test.xml")));
  };
  EXPECT_THAT(written("mlx5_0", "2.30.7"), ::testing::HasSubstr("rma=\"1\""));
  EXPECT_THAT(written("eth0", "2.30.7"), ::testing::Not(::testing::HasSubstr("rma")));
  EXPECT_THAT(written("hsn0", "2.30.7", "port=\"0\""), ::testing::Not(::testing::HasSubstr("rma")));
  EXPECT_THAT(written("mlx5_0", "2.29.7"), ::testing::Not(::testing::HasSubstr("rma")));
}

TEST(VersionElements, WhatANicCanDoBesides) {
  using ::testing::ElementsAre;
  EXPECT_THAT(countsBy(R"(gin="1" rma="1")", "2.28.9"), ElementsAre(1, 0, 0));
  EXPECT_THAT(countsBy(R"(gin="1" rma="1")", "2.29.7"), ElementsAre(1, 1, 0));
  EXPECT_THAT(countsBy(R"(gin="1" rma="1")", "2.30.7"), ElementsAre(1, 1, 1));
  EXPECT_THAT(countsBy(R"(net="0" gin="1")", "2.28.9"), ElementsAre(1, 0, 0))
      << "an attribute that is not known";
  EXPECT_THAT(countsBy(R"(net="0" gin="1")", "2.30.7"), ElementsAre(0, 1, 0));
  std::string lines;
  for (const LogLine& line : systemLines(systemBy(withNet(R"(gin="1")"), "2.29.7"), 0, 0))
    lines += line.text + '\n';
  EXPECT_THAT(lines, ::testing::HasSubstr("+ NET[12.5] - GIN/0-0\n"));
}

TEST(VersionElements, ANicsIdOfHardware) {
  const auto asic = [](const std::string& attributes, const char* version) {
    const System system = systemBy(withNet(attributes), version);
    return system.net(system.node(NodeType::kNet, 0)).asic;
  };
  EXPECT_EQ(asic(R"(guid="0x1234")", "2.25.1"), 0x1234u);
  EXPECT_EQ(asic(R"(guid="1234")", "2.27.7"), 0u) << "only numbers that begin with 0x";
  EXPECT_EQ(asic(R"(guid="1234")", "2.28.9"), 0x1234u);
}

TEST(VersionElements, ValuesMayStandInSingleQuotes) {
  const Document document =
      parseTopology("<system version='1'>\n<cpu numaid='0' arch='x86_64'/></system>", "test.xml");
  EXPECT_EQ(*document.attribute(document.child(document.root(), "cpu"), "arch"), "x86_64");
}

std::string splitGpu(const std::string& inside) {
  std::string parts;
  for (int part = 0; part < 2; ++part)
    parts +=
        fmt::format(R"(<gpu dev="0" sm="100" rank="{}" gdr="1" mlopart="{}">{}</gpu>)", part, part, inside);
  return machine(cpu(
      0, R"(<pci busid="0000:1b:00.0" class="0x030200" link_speed="" link_width="16">)" + parts + "</pci>"));
}

// The example of the rule: 18 NVLinks of 40.1 GB/s, of which each part has half; a chip-to-chip link, which both share.
TEST(VersionElements, PartsOfAGpuShareItsLinks) {
  const System system = systemBy(
      splitGpu(
          R"(<nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/><c2c bw="44712" count="10"/>)"),
      "2.30.7");
  const NodeId first = system.node(NodeType::kGpu, 0), second = system.node(NodeType::kGpu, 1);
  EXPECT_EQ(system.name(first), "GPU/0-1b001");
  EXPECT_EQ(system.name(second), "GPU/0-1b003");
  const auto bandwidth = [&](NodeId from, NodeId to, LinkType type) {
    const LinkId link = system.findLink(from, to, type);
    return link == kNoLink ? 0.0f : system.link(link).bandwidth;
  };
  EXPECT_EQ(bandwidth(first, second, LinkType::kLoc), 2618.0f);
  EXPECT_EQ(bandwidth(first, system.node(NodeType::kNvs, 0), LinkType::kNvl), 18 * 40.1f / 2);
  const NodeId shared = system.node(NodeType::kCxb, 0);
  EXPECT_EQ(system.name(shared), "CXB/0-1b000");
  for (const NodeId end : {first, second, system.node(NodeType::kCpu, 0)})
    EXPECT_EQ(bandwidth(shared, end, LinkType::kC2c), 447.12f) << system.name(end);
  EXPECT_EQ(bandwidth(first, system.node(NodeType::kCpu, 0), LinkType::kC2c), 0.0f);
  EXPECT_THROW(systemBy(splitGpu(""), "2.29.7"), InputError) << "no version before knows parts";
}

}  // namespace
}  // namespace xylem::topology
