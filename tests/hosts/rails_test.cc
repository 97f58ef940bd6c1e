// Hosts with two cables each, to networks that are not connected: both carry their share, over sockets and
// over a fabric, and jobs survive when one of them is cut.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "hosts/host_job.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace xylem {
namespace {

using namespace testing;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kCables = 2;
constexpr std::size_t kCount = 1 << 20;  // floats, of a measured operation
constexpr int kRounds = 4;
// The other cable carries at least this part of the bytes of the busier one.
constexpr double kShare = 0.5;

// Bytes that the interface has received and sent.
double carried(const std::string& interface) {
  std::ifstream table("/proc/net/dev");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string name;
    double received = 0, sent = 0, skipped = 0;
    words >> name >> received;
    for (int i = 0; i < 7; ++i) words >> skipped;
    if (words >> sent; name == interface + ":") return received + sent;
  }
  ADD_FAILURE() << "there is no interface " << interface;
  return 0;
}

void awaitAll(ncclComm_t comm) {
  float one = 1;
  ASSERT_EQ(ncclAllReduce(&one, &one, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
}

// All ranks count at the same time: a cable carries the bytes of the whole host.
void expectBothCarry(ncclComm_t comm, const char* what, double bytes, const std::function<void()>& work) {
  double load[kCables];
  awaitAll(comm);
  for (int cable = 0; cable < kCables; ++cable) load[cable] = carried(Namespaces::interface(cable));
  work();
  awaitAll(comm);
  for (int cable = 0; cable < kCables; ++cable)
    load[cable] = carried(Namespaces::interface(cable)) - load[cable];
  EXPECT_GE(load[0] + load[1], bytes) << what;
  EXPECT_GE(std::min(load[0], load[1]), kShare * std::max(load[0], load[1]))
      << what << ": " << load[0] << " and " << load[1] << " bytes";
}

void reduce(const Seat& seat, ncclComm_t comm) {
  std::vector<float> data(kCount);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<float>(i % 1000);
  ASSERT_EQ(ncclAllReduce(data.data(), data.data(), kCount, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i)
    wrong += data[i] != static_cast<float>(i % 1000) * static_cast<float>(seat.ranks()) ? 1 : 0;
  ASSERT_EQ(wrong, 0u);
}

void exchange(const Seat& seat, ncclComm_t comm, int peer) {
  std::vector<int> data(kCount, seat.rank), got(kCount, -1);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(data.data(), kCount, ncclInt32, peer, comm, nullptr), ncclSuccess);
  ASSERT_EQ(ncclRecv(got.data(), kCount, ncclInt32, peer, comm, nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  EXPECT_EQ(static_cast<std::size_t>(std::count(got.begin(), got.end(), peer)), kCount);
}

const Role kSharing("share", [](const Seat& seat) {
  ncclComm_t comm = seat.join();
  ASSERT_NE(comm, nullptr);
  reduce(seat, comm);
  constexpr double kBytes = kRounds * kCount * sizeof(float);
  expectBothCarry(comm, "AllReduce", kBytes, [&] {
    for (int i = 0; i < kRounds; ++i) reduce(seat, comm);
  });
  // With the rank of the other host at the same place, and with the one at the opposite place.
  for (const int peer : {(seat.rank + seat.ranks() / 2) % seat.ranks(), seat.ranks() - 1 - seat.rank})
    expectBothCarry(comm, "sends and receives", kBytes, [&] {
      for (int i = 0; i < kRounds; ++i) exchange(seat, comm, peer);
    });
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
});

// Works until it fails.
const Role kCut("cut cable", [](const Seat& seat) {
  ncclComm_t comm = seat.join();
  ASSERT_NE(comm, nullptr);
  const bool transfers = std::getenv("XYLEM_TEST_TRANSFERS") != nullptr;
  std::vector<float> data(kCount, 1), got(kCount);
  const int peer = (seat.rank + seat.ranks() / 2) % seat.ranks();
  const auto works = [&] {
    if (!transfers)
      return ncclAllReduce(data.data(), data.data(), kCount, ncclFloat, ncclMax, comm, nullptr) ==
                 ncclSuccess &&
             cudaStreamSynchronize(nullptr) == cudaSuccess;
    ncclGroupStart();
    ncclSend(data.data(), kCount, ncclFloat, peer, comm, nullptr);
    ncclRecv(got.data(), kCount, ncclFloat, peer, comm, nullptr);
    return ncclGroupEnd() == ncclSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess;
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(works()) << ncclGetLastError(comm);
  seat.mark("working");
  while (works()) {
  }
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  // The error of the two ranks that lose each other, or of another pair that this rank has heard of first.
  EXPECT_THAT(ncclGetLastError(comm), ContainsRegex("rank [0-9]+ is (gone|lost)"));
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
});

struct Net {
  const char* name;
  const char* network;
};

class Rails : public ::testing::TestWithParam<Net> {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
    hosts_.emplace(2, kCables);
  }
  JobShape shape(int perHost) const {
    JobShape shape{.machines = {hostDevices(perHost, kCables), hostDevices(perHost, kCables)},
                   .hostOfRank = {},
                   .variables = {{"NCCL_NET", GetParam().network},
                                 {"XYLEM_FABRIC_PROVIDER", "tcp"},
                                 {"NCCL_SOCKET_IFNAME", "eth"},
                                 {"NCCL_MIN_NCHANNELS", "2"},
                                 {"NCCL_DEBUG", "INFO"}}};
    for (int rank = 0; rank < 2 * perHost; ++rank) shape.hostOfRank.push_back(rank / perHost);
    return shape;
  }
  std::optional<Namespaces> hosts_;
};

class RailsShared : public Rails {
 protected:
  // The logs.
  std::vector<std::string> expectShared(const JobShape& shape) {
    HostJob job(*hosts_, "share", shape);
    const int ranks = static_cast<int>(shape.hostOfRank.size());
    std::vector<std::string> logs;
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(job.wait(rank), 0) << "rank " << rank << "\n" << job.log(rank);
      for (int cable = 0; cable < kCables; ++cable)
        EXPECT_THAT(job.log(rank), HasSubstr(std::string(" via NET/") + GetParam().network + "/" +
                                             std::to_string(cable) + "\n"));
      logs.push_back(job.log(rank));
    }
    return logs;
  }
};

TEST_P(RailsShared, ByOneRankOfEachHost) { expectShared(shape(1)); }

TEST_P(RailsShared, ByTwoRanksOfEachHost) { expectShared(shape(2)); }

// The lines of the two ends about a queue: "Channel 00/1 : 0[0] -> 3[1]", and the device.
std::map<std::string, std::string> queuesOf(const std::string& log, const std::string& use) {
  std::map<std::string, std::string> queues;
  const std::regex line("(Channel [0-9/]+ : [^ ]+ -> [^ ]+) \\[" + use + "\\] via (NET/[^\n]*)");
  for (std::sregex_iterator found(log.begin(), log.end(), line), end; found != end; ++found)
    queues[(*found)[1]] = (*found)[2];
  return queues;
}

TEST_P(RailsShared, ByTwoRanksThatStayOnTheirs) {
  JobShape own = shape(2);
  own.variables["NCCL_CROSS_NIC"] = "0";
  std::map<std::string, std::string> sends, receives;
  for (const std::string& log : expectShared(own)) {
    sends.merge(queuesOf(log, "send"));
    receives.merge(queuesOf(log, "receive"));
  }
  EXPECT_FALSE(sends.empty());
  EXPECT_EQ(sends, receives);
}

class RailCut : public Rails {
 protected:
  void expectNoticed(int perHost, int cable, bool transfers) {
    JobShape shape = this->shape(perHost);
    shape.variables["XYLEM_PEER_TIMEOUT"] = "3";
    if (transfers) shape.variables["XYLEM_TEST_TRANSFERS"] = "1";
    HostJob job(*hosts_, "cut cable", shape);
    ASSERT_TRUE(job.reached("working"));
    hosts_->cut(1, cable);
    for (int rank = 0; rank < 2 * perHost; ++rank)
      EXPECT_EQ(job.wait(rank), 0) << "rank " << rank << "\n" << job.log(rank);
  }
};

TEST_P(RailCut, TheFirstWhileTheyReduce) { expectNoticed(1, 0, false); }
TEST_P(RailCut, TheSecondWhileTheyReduce) { expectNoticed(1, 1, false); }
TEST_P(RailCut, TheSecondWhileMoreReduce) { expectNoticed(2, 1, false); }
TEST_P(RailCut, TheSecondWhileTheySend) { expectNoticed(2, 1, true); }

constexpr Net kNets[] = {{"Sockets", "Socket"}, {"Fabric", "Fabric"}};
const auto nameOf = [](const auto& net) { return std::string(net.param.name); };
INSTANTIATE_TEST_SUITE_P(Over, RailsShared, ::testing::ValuesIn(kNets), nameOf);
// A fabric takes twice as long to say that a cable is cut, at full load: with sanitizers that is left for the night.
const std::size_t kCutNets =
    static_cast<std::size_t>(byEffort({.quick = 2, .normal = kSanitized ? 1 : 2, .night = 2}));
INSTANTIATE_TEST_SUITE_P(Over, RailCut, ::testing::ValuesIn(kNets, kNets + kCutNets), nameOf);

}  // namespace
}  // namespace xylem
