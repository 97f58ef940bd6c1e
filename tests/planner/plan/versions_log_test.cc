// NCCL's log lines, as each version writes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/plan/plan_log.h"
#include "planner/plan/planner.h"
#include "planner_support/machine_text.h"

namespace xylem::plan {
namespace {

using namespace xylem::testing;  // NOLINT: the machines
using ::testing::HasSubstr;
using ::testing::Not;

std::string logOf(const std::string& machine, int hosts, const char* version,
                  std::map<std::string, std::string> variables = {}, bool nvls = false) {
  PlanRequest request = identicalHosts(topology::parseTopology(machine, "test.xml"), hosts);
  request.offered.nvls = nvls;
  variables["XYLEM_NCCL"] = version;
  return logText(planLog(planJob(request, Settings::fromPairs(variables)), 0));
}

TEST(VersionsLog, DevicesAndRanksAreNodesOfTheirOwnSince230) {
  const std::string log = logOf(twoGpusOneNic(), 2, "2.30.7");
  EXPECT_THAT(log, HasSubstr(R"(=== System : maxBw 12.0 totalBw 12.0 ===
CPU/0-0 (1/1/2)
+ PCI[12.0] - PCI/0-10000 (10b5874700000000)
              + PCI[12.0] - DEV/0-11000 (0)
                            + LOC[5000.0] - GPU/0-11000
              + PCI[12.0] - DEV/0-12000 (0)
                            + LOC[5000.0] - GPU/0-12000
              + PCI[12.0] - NIC/0-13000
                            + NET[12.5] - NET/0-0 (0/1234/1/12.500000)
==========================================
GPU/0-11000 :GPU/0-11000 (0/5000.0/LOC) GPU/0-12000 (4/12.0/PIX) CPU/0-0 (3/12.0/PHB) NET/0-0 (4/12.0/PIX) DEV/0-11000 (1/5000.0/LOC) DEV/0-12000 (3/12.0/PIX) 
)"));
  EXPECT_THAT(log,
              HasSubstr("NET/0-0 :GPU/0-11000 (4/12.0/PIX) GPU/0-12000 (4/12.0/PIX) CPU/0-0 (3/12.0/PHB) "
                        "NET/0-0 (0/5000.0/LOC) DEV/0-11000 (3/12.0/PIX) DEV/0-12000 (3/12.0/PIX) \n"));
  EXPECT_THAT(log, HasSubstr("Rank 0: 1 Net devices\nRank 0: 0 CollNet devices\n"
                             "Local Net device counts across ranks: min 1 max 1\n"));
  EXPECT_THAT(log, HasSubstr("Tuning P2P operations with maxP2pPeers = 4\n"));
  EXPECT_THAT(log, Not(HasSubstr("GPU Direct RDMA")));
  EXPECT_THAT(logOf(twoGpusOneNic(), 2, "2.29.7"),
              HasSubstr("GPU/0-11000 :GPU/0-11000 (0/5000.0/LOC) GPU/0-12000 (2/12.0/PIX)"));
}

TEST(VersionsLog, ANodeBelowADeviceShowsItsOtherLinks) {
  const std::string log = logOf(fourGpusMesh(), 1, "2.30.7");
  EXPECT_THAT(log, HasSubstr("+ PCI[12.0] - DEV/0-10000 (0)\n"
                             "              + LOC[5000.0] - GPU/0-10000\n"
                             "              + NVL[80.0] - DEV/0-40000\n"));
}

TEST(VersionsLog, LinesOnGpuDirectRdma) {
  const std::string two = twoGpusOneNic();
  const auto times = [](const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  EXPECT_THAT(logOf(two, 2, "2.26.2"), Not(HasSubstr("GPU Direct RDMA"))) << "a line of the subsystem NET";
  const std::string by227 =
      "GPU Direct RDMA Enabled for GPU 1 / HCA 0 (distance 4 <= 5), read 0 mode Default\n";
  EXPECT_EQ(times(logOf(two, 2, "2.27.7"), by227), 2) << "a rank computes paths twice";
  const std::string by229 =
      "GPU Direct RDMA Enabled for GPU/0-73728 (rank 1) - NET/0-0 (distance 4 <= 6, read 0, mode Default)\n";
  EXPECT_EQ(times(logOf(two, 2, "2.29.7"), by229), 2);
  EXPECT_THAT(logOf(two, 2, "2.29.7", {{"NCCL_NET_GDR_LEVEL", "LOC"}}),
              HasSubstr("GPU Direct RDMA Disabled for GPU/0-69632 (rank 0) - NET/0-0 (distance 4 > 0)\n"));
}

TEST(VersionsLog, ChannelsShowGpusByBusIdSince227) {
  EXPECT_THAT(logOf(twoGpusOneNic(), 2, "2.26.2"), HasSubstr("\n 0 : NET/0-0 GPU/0 GPU/1 NET/0-0\n"));
  EXPECT_THAT(logOf(twoGpusOneNic(), 2, "2.27.7"),
              HasSubstr("\n 0 : NET/0-0 GPU/0-11000 GPU/0-12000 NET/0-0\n"));
}

TEST(VersionsLog, GroupsOfSendAndReceiveSince228) {
  EXPECT_THAT(logOf(twoGpusOneNic(), 2, "2.27.7"), Not(HasSubstr("ncclP2pSchedule")));
  EXPECT_THAT(logOf(twoGpusOneNic(), 2, "2.28.9"), HasSubstr("\nncclP2pSchedule: group size used is 2\n"));
}

TEST(VersionsLog, WhatNvlsIsTunedToSince230) {
  std::string gpus;
  for (int g = 0; g < 4; ++g)
    gpus += gpu(fmt::format("0000:2{}:00.0", g), g, 90, nvswitch(18)) +
            nic(fmt::format("0000:3{}:00.0", g), g, 400000);
  const std::string host = machine(cpu(0, gpus));
  EXPECT_THAT(logOf(host, 2, "2.30.7", {}, true),
              HasSubstr("\nNVLS tuning: nChannels 16 chunkSize 131072 treeMaxChunkSize 131072\n"));
  EXPECT_THAT(logOf(host, 2, "2.29.7", {}, true), Not(HasSubstr("NVLS tuning")));
}

// A line of many GPUs ends where NCCL's buffer for lines did, until it did no longer.
TEST(VersionsLog, LinesOfChannelsAreWholeSince229) {
  std::string gpus;
  for (int g = 0; g < 100; ++g) gpus += gpu(fmt::format("0000:{:02x}:00.0", g + 32), g, 80, "");
  const std::string host = machine(cpu(0, gpus));
  const auto longest = [&](const char* version) {
    std::size_t most = 0;
    std::istringstream log(logOf(host, 1, version));
    for (std::string line; std::getline(log, line);)
      if (line.starts_with(" 0 :")) most = std::max(most, line.size());
    return most;
  };
  EXPECT_LT(longest("2.28.9"), 1000u);
  EXPECT_GT(longest("2.29.7"), 1000u) << "a hundred names of eleven characters";
}

}  // namespace
}  // namespace xylem::plan
