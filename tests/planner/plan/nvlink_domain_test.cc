// Several hosts of one NVLink domain in one description: which of them NCCL plans for together.

#include "planner/plan/nvlink_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/connect/net_choice.h"
#include "planner/connect/rings.h"
#include "planner_support/machine_text.h"

namespace xylem::plan {
namespace {

using namespace xylem::testing;  // NOLINT: the machines
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Four hosts of two GPUs and a NIC, two in each rack. The ranks go round the hosts.
std::string fourHosts(bool racks = true) {
  std::string cpus;
  for (int h = 0; h < 4; ++h) {
    std::string inside;
    for (int g = 0; g < 2; ++g)
      inside += fmt::format(
          R"(<pci busid="0000:{}1:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="{}" sm="100" rank="{}" gdr="1">{}</gpu></pci>)",
          g + 1, g, h + 4 * g, nvswitch(18));
    inside += nic("0000:31:00.0", 0, 400000, "32.0 GT/s PCIe");
    cpus += cpu(0, inside,
                fmt::format(R"(host_hash="0x{}" arch="arm64"{})", h + 1,
                            racks ? fmt::format(" rack=\"R{}\"", h / 2) : ""));
  }
  return machine(cpus);
}

Plan domainPlan(const std::string& text, const char* version, std::map<std::string, std::string> variables,
                int count = 1) {
  variables["XYLEM_NCCL"] = version;
  return planJob(identicalHosts(topology::parseTopology(text, "domain.xml"), count),
                 Settings::fromPairs(variables));
}

// The number of ranks of each node.
std::vector<std::size_t> nodesOf(const Plan& plan) {
  std::vector<std::size_t> sizes;
  for (int node = 0; node < plan.connections.nodes.count(); ++node)
    sizes.push_back(plan.connections.nodes.ranks(node).size());
  return sizes;
}

TEST(NvlinkDomain, IsPlannedForAsOneHost) {
  for (const char* version : {"2.25.1", "2.27.7", "2.30.7"})
    EXPECT_THAT(nodesOf(domainPlan(fourHosts(), version, {})), ElementsAre(8)) << version;
}

TEST(NvlinkDomain, OneVariableSwitchesItOff) {
  for (const char* version : {"2.25.1", "2.30.7"}) {
    const Plan plan = domainPlan(fourHosts(), version, {{"NCCL_MNNVL_ENABLE", "0"}});
    EXPECT_THAT(nodesOf(plan), ElementsAre(2, 2, 2, 2)) << version;
    const auto ranks = plan.connections.nodes.ranks(1);
    EXPECT_THAT(std::vector<int>(ranks.begin(), ranks.end()), ElementsAre(1, 5));
    EXPECT_EQ(plan.hostOf(0).system().count(topology::NodeType::kCpu), 1);
    EXPECT_EQ(connect::ringOf(plan.connections, 0).size(), 8u);
  }
}

TEST(NvlinkDomain, NeedsP2pSince227) {
  const std::map<std::string, std::string> noP2p = {{"NCCL_P2P_DISABLE", "1"}};
  const auto cpus = [&](const char* version, std::map<std::string, std::string> variables) {
    return domainPlan(fourHosts(), version, std::move(variables))
        .hostOf(0)
        .system()
        .count(topology::NodeType::kCpu);
  };
  EXPECT_EQ(cpus("2.26.2", noP2p), 4) << "the graph has all hosts, and its ranks fall into one node per host";
  EXPECT_THAT(nodesOf(domainPlan(fourHosts(), "2.26.2", noP2p)), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(cpus("2.27.7", noP2p), 1);
  EXPECT_EQ(cpus("2.27.7", {{"NCCL_P2P_LEVEL", "LOC"}}), 1);
  EXPECT_EQ(cpus("2.27.7", {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_MNNVL_ENABLE", "1"}}), 4);
}

TEST(NvlinkDomain, ARackMayBeACliqueSince228) {
  const std::map<std::string, std::string> byRack = {{"NCCL_MNNVL_CLIQUE_ID", "-2"}};
  EXPECT_THAT(nodesOf(domainPlan(fourHosts(), "2.27.7", byRack)), ElementsAre(8))
      << "a number like any other";
  const Plan plan = domainPlan(fourHosts(), "2.28.9", byRack);
  EXPECT_THAT(nodesOf(plan), ElementsAre(4, 4));
  const auto ranks = plan.connections.nodes.ranks(1);
  EXPECT_THAT(std::vector<int>(ranks.begin(), ranks.end()), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(nodesOf(domainPlan(fourHosts(), "2.28.9", {{"NCCL_MNNVL_CLIQUE_ID", "5"}})), ElementsAre(8));
  EXPECT_THAT([&] { domainPlan(fourHosts(false), "2.28.9", byRack); },
              ThrowsMessage<InputError>(HasSubstr("a cpu without `rack`")));
}

TEST(NvlinkDomain, SeveralDomainsFallApartAlike) {
  const Plan plan = domainPlan(fourHosts(), "2.30.7", {{"NCCL_MNNVL_CLIQUE_ID", "-2"}}, 2);
  EXPECT_THAT(nodesOf(plan), ElementsAre(4, 4, 4, 4));
  const auto ranks = plan.connections.nodes.ranks(2);
  EXPECT_THAT(std::vector<int>(ranks.begin(), ranks.end()), ElementsAre(8, 9, 12, 13));
  for (const HostGroup& group : plan.groups) EXPECT_EQ(group.request, 0u);
}

TEST(NvlinkDomain, RanksSendByTheNicOfTheirOwnHostSince227) {
  const auto nicOf = [](const char* version, int rank) {
    const Plan plan = domainPlan(fourHosts(), version, {{"NCCL_CROSS_NIC", "0"}}, 2);
    const connect::NetChoice choice(plan.connections, plan.reach);
    const connect::NetEnd end = choice.p2pEnd(rank, plan.job().ranks() / 2, 0);
    return plan.hostOf(rank).system().name(end.net);
  };
  EXPECT_EQ(nicOf("2.26.2", 1), "NET/0-0");
  EXPECT_EQ(nicOf("2.30.7", 0), "NET/0-0");
  EXPECT_EQ(nicOf("2.30.7", 1), "NET/1-0");
  EXPECT_EQ(nicOf("2.30.7", 7), "NET/3-0");
}

TEST(NvlinkDomain, OrdinaryHostsStayAsTheyAre) {
  const std::map<std::string, std::string> off = {{"NCCL_MNNVL_ENABLE", "0"}, {"NCCL_MNNVL_CLIQUE_ID", "-2"}};
  EXPECT_THAT(nodesOf(domainPlan(twoGpusOneNic(), "2.30.7", off, 2)), ElementsAre(2, 2));
}

}  // namespace
}  // namespace xylem::plan
