// The log of ranks on two hosts, line by line in NCCL's order.

#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "hosts/host_job.h"

namespace xylem {
namespace {

using namespace testing;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const Role kOnce("once", [](const Seat& seat) {
  ncclComm_t comm = seat.join();
  ASSERT_NE(comm, nullptr);
  std::vector<float> data(1000, 1), got(1000);
  const int ranks = seat.ranks();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(data.data(), data.size(), ncclFloat, (seat.rank + 1) % ranks, comm, nullptr),
            ncclSuccess);
  ASSERT_EQ(ncclRecv(got.data(), got.size(), ncclFloat, (seat.rank + ranks - 1) % ranks, comm, nullptr),
            ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
});

// Returns an empty text if lines that match come in this order, with any lines between; else the first
// missing one.
std::string missingFrom(const std::string& log, const std::vector<std::string>& patterns) {
  std::istringstream lines(log);
  std::string line;
  for (const std::string& pattern : patterns) {
    const std::regex wanted("NCCL INFO " + pattern);
    bool found = false;
    while (!found && std::getline(lines, line)) found = std::regex_search(line, wanted);
    if (!found) return pattern;
  }
  return "";
}

class HostLog : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
  static std::vector<std::string> logsOf(const JobShape& shape) {
    const Namespaces hosts(static_cast<int>(shape.machines.size()));
    HostJob job(hosts, "once", shape);
    std::vector<std::string> logs;
    for (std::size_t rank = 0; rank < shape.hostOfRank.size(); ++rank) {
      EXPECT_EQ(job.wait(static_cast<int>(rank)), 0);
      logs.push_back(job.log(static_cast<int>(rank)));
    }
    return logs;
  }
};

TEST_F(HostLog, HasNcclsLinesInNcclsOrder) {
  const auto logs =
      logsOf({.machines = {hostDevices(2), zoo("seed-a40x2")},
              .hostOfRank = {0, 0, 1, 1},
              .variables = {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,GRAPH,TUNING"}}});
  for (int rank = 0; rank < 4; ++rank) {
    const int next = (rank + 1) % 4, previous = (rank + 3) % 4;
    const auto host = [](int r) { return r / 2; };
    const auto queue = [&](int from, int to, const std::string& use) {
      return "Channel 00/0 : " + std::to_string(from) + "\\[" + std::to_string(from % 2) + "\\] -> " +
             std::to_string(to) + "\\[" + std::to_string(to % 2) + "\\] " + use;
    };
    std::vector<std::string> wanted{
        "Bootstrap : Using eth0:10\\.213\\.0\\." + std::to_string(host(rank) + 1) + "<0>$",
        "NET/Socket : Using \\[0\\]eth0:10\\.213\\.0\\." + std::to_string(host(rank) + 1) + "<0>$",
        "Using network Socket$",
        "ncclCommInitRank comm 0x[0-9a-f]+ rank " + std::to_string(rank) +
            " nranks 4 cudaDev [01] nvmlDev [01] busId 0 commId 0x[0-9a-f]+ - Init START",
        "=== System : maxBw [0-9.]+ totalBw [0-9.]+ ===",
        "CPU/0-",
        "=+$",
        "GPU/0-[0-9a-f]+ :.*GPU/0-[0-9a-f]+ \\(0/",
        "Pattern 4, crossNic 0, nChannels ",
        "comm 0x[0-9a-f]+ rank " + std::to_string(rank) +
            " nRanks 4 nNodes 2 localRanks 2 localRank [01] MNNVL 0$"};
    if (rank == 0) wanted.push_back("Channel 00/[0-9]+ : +0 +1 +2 +3$");
    wanted.push_back("Trees \\[0\\] ");
    wanted.push_back("P2P Chunksize set to 131072$");
    if (host(previous) != host(rank))
      wanted.push_back(queue(previous, rank, "\\[receive\\] via NET/Socket/0$"));
    wanted.push_back(
        queue(rank, next, host(next) == host(rank) ? "via P2P/IPC$" : "\\[send\\] via NET/Socket/0$"));
    for (const char* line :
         {"Connected all rings$", "Connected all trees$", "threadThresholds ",
          "[0-9]+ coll channels, [0-9]+ collnet channels, [0-9]+ nvls channels, [0-9]+ p2p channels, ",
          "ncclCommInitRank comm 0x[0-9a-f]+ rank [0-3] nranks 4 .* busId [0-9a-f]+ .* - Init COMPLETE$",
          "Init timings - ncclCommInitRank: rank [0-3] nranks 4 total [0-9.]+ \\(kernels"})
      wanted.push_back(line);
    if (host(next) != host(rank)) wanted.push_back("Channel 00/1 : .* \\[send\\] via NET/Socket/0$");
    const std::string& log = logs[static_cast<std::size_t>(rank)];
    EXPECT_EQ(missingFrom(log, wanted), "") << log;
    EXPECT_THAT(log, Not(HasSubstr("WARN")));
  }
}

// People who ask for help usually send NCCL_DEBUG=INFO alone.
TEST_F(HostLog, TellsTheMainThingsByDefault) {
  const auto logs = logsOf({.machines = {hostDevices(1), hostDevices(1)},
                            .hostOfRank = {0, 1},
                            .variables = {{"NCCL_DEBUG", "INFO"}}});
  for (const std::string& log : logs)
    EXPECT_EQ(
        missingFrom(log, {"Bootstrap : Using eth0", "NET/Socket : Using", ".* Init START$", ".* nNodes 2",
                          "Trees \\[0\\]", "P2P Chunksize", "Channel 00/0 : ", "Connected all rings",
                          "threadThresholds", ".* coll channels", ".* Init COMPLETE$", "Init timings"}),
        "")
        << log;
}

TEST_F(HostLog, SharedMemoryHasNoNumberAndOnlyTheSenderSpeaks) {
  const auto logs = logsOf({.machines = {hostDevices(2), hostDevices(1)},
                            .hostOfRank = {0, 0, 1},
                            .variables = {{"NCCL_DEBUG", "INFO"}, {"NCCL_P2P_DISABLE", "1"}}});
  EXPECT_THAT(logs[0], HasSubstr("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"));
  EXPECT_THAT(logs[0], Not(HasSubstr("1[1] -> 0[0] via")));
  EXPECT_THAT(logs[0], Not(HasSubstr("[receive] via SHM")));
  EXPECT_THAT(logs[2], HasSubstr("Channel 00/0 : 1[1] -> 2[0] [receive] via NET/Socket/0\n"));
}

}  // namespace
}  // namespace xylem
