// Communicators over net plugins of every version and over libfabric, and without any network.

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/comm/checked_rank.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/plugins/test_net.h"
#include "support/sanitizers.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::HasSubstr;

void exchangeRound(int rank, int ranks, ncclComm_t comm) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<int> out(n * 50'000), in(n * 50'000);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = rank * 1000 + static_cast<int>(i % 997);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int peer = 0; peer < ranks; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * 50'000;
    ASSERT_EQ(ncclSend(out.data() + at, 50'000, ncclInt32, peer, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclRecv(in.data() + at, 50'000, ncclInt32, peer, comm, nullptr), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  for (int peer = 0; peer < ranks; ++peer)
    for (std::size_t i = 0; i < 50'000; i += 97)
      ASSERT_EQ(in[static_cast<std::size_t>(peer) * 50'000 + i],
                peer * 1000 + static_cast<int>((static_cast<std::size_t>(rank) * 50'000 + i) % 997));
}

void runAll(int rank, int ranks, ncclComm_t comm) {
  CheckedRank self(rank, ranks, comm);
  for (const std::size_t count : {1u, 1003u, 200'000u})
    for (const Collective collective :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast})
      self.run({collective, DataType::kInt32, 0, count});
  exchangeRound(rank, ranks, comm);
}

class CommunicatorOver : public ::testing::TestWithParam<int> {};

TEST_P(CommunicatorOver, ComputesAndSends) {
  const int version = GetParam();
  const Variables variables{{"NCCL_P2P_DISABLE", "1"},
                            {"NCCL_SHM_DISABLE", "1"},
                            {"NCCL_NET_PLUGIN", plugins::testNetFile(version)},
                            {"NCCL_NET", plugins::testNetName(version)}};
  std::atomic<int> living{0};
  expectAllJoined(runRanks(3, [&](int rank, ncclComm_t comm) {
    living = plugins::testNetLiving(version);
    runAll(rank, 3, comm);
  }));
  EXPECT_GT(living, 0) << "nothing went through the plugin";
  EXPECT_EQ(plugins::testNetLiving(version), 0);
}

// From version 11 on the plugin has a context for each communicator, until its end.
TEST_P(CommunicatorOver, TellsItsTrafficClass) {
  const int version = GetParam();
  const Variables variables{{"NCCL_P2P_DISABLE", "1"},
                            {"NCCL_SHM_DISABLE", "1"},
                            {"NCCL_NET_PLUGIN", plugins::testNetFile(version)},
                            {"NCCL_NET", plugins::testNetName(version)}};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::array<ncclComm_t, 2> comms{};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.trafficClass = 9;
      ncclComm_t& comm = comms[static_cast<std::size_t>(rank)];
      ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclSuccess)
          << ncclGetLastError(nullptr);
      runAll(rank, 2, comm);
    });
  for (std::thread& thread : threads) thread.join();
  const plugins::TestNetUsers users = plugins::testNetUsers(version);
  EXPECT_EQ(users.trafficClass, version >= 10 ? 9 : 0);
  EXPECT_EQ(users.communicator != 0, version >= 11);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(users.contexts - plugins::testNetUsers(version).contexts, version >= 11 ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, CommunicatorOver, ::testing::ValuesIn(plugins::kTestNetVersions),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

class CommunicatorOverFabric : public ::testing::TestWithParam<const char*> {};

TEST_P(CommunicatorOverFabric, ComputesAndSends) {
  if (kThreadSanitizer)
    GTEST_SKIP()
        << "libfabric is not compiled for the thread sanitizer, which does not see how it orders threads";
  const Variables variables{{"NCCL_P2P_DISABLE", "1"},
                            {"NCCL_SHM_DISABLE", "1"},
                            {"NCCL_NET", "fabric"},
                            {"XYLEM_FABRIC_PROVIDER", GetParam()}};
  expectAllJoined(runRanks(3, [](int rank, ncclComm_t comm) { runAll(rank, 3, comm); }));
}

INSTANTIATE_TEST_SUITE_P(Providers, CommunicatorOverFabric, ::testing::Values("tcp"),
                         [](const auto& provider) { return std::string(provider.param); });

TEST(CommunicatorOverNoFabric, AProviderThatIsNotThereIsSaidByName) {
  const Variables variables{{"NCCL_NET", "Fabric"}, {"XYLEM_FABRIC_PROVIDER", "nowhere"}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {
    EXPECT_NE(result.init, ncclSuccess);
    EXPECT_THAT(result.text, HasSubstr("network Fabric: libfabric has no device of provider nowhere"));
  }
}

TEST(CommunicatorOverPlugin, APluginThatMakesItHardIsNoneTheWorse) {
  const Variables variables{
      {"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NET_PLUGIN", plugins::testNetFile(8)},
      {"TEST_NET_SLOW", "3"},    {"TEST_NET_PART", "5000"}, {"TEST_NET_BUSY", "2"},
      {"TEST_NET_LATE", "3"}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) { runAll(rank, 2, comm); }));
  EXPECT_EQ(plugins::testNetLiving(8), 0);
}

TEST(CommunicatorOverPlugin, ThatCarriesLessThanAStepIsRefusedBeforeAnyData) {
  const Variables variables{{"NCCL_P2P_DISABLE", "1"},
                            {"NCCL_SHM_DISABLE", "1"},
                            {"NCCL_NET_PLUGIN", plugins::testNetFile(9)},
                            {"TEST_NET_MAX", "65536"}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {
    EXPECT_EQ(result.init, ncclInvalidUsage);
    EXPECT_THAT(result.text, HasSubstr("network Test09: device test0 carries 65536 bytes at once, and steps "
                                       "have 262144: set NCCL_BUFFSIZE to 524288 or less"));
  }
  const plugins::Faults remedy{{"NCCL_BUFFSIZE", "524288"}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) { runAll(rank, 2, comm); }));
}

// Its own result does not count.
TEST(CommunicatorOverPlugin, AFunctionThatFailsIsNoBugOfTheLibrary) {
  for (const char* code : {"3", "4", "5"}) {
    const Variables variables{{"NCCL_P2P_DISABLE", "1"},
                              {"NCCL_SHM_DISABLE", "1"},
                              {"NCCL_NET_PLUGIN", plugins::testNetFile(8)},
                              {"TEST_NET_LISTEN", code}};
    for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {
      // The rank whose plugin fails first, and the one that hears of it.
      EXPECT_THAT(result.init, ::testing::AnyOf(ncclSystemError, ncclRemoteError));
      EXPECT_THAT(result.text, HasSubstr("net plugin Test08: listen failed: "));
    }
  }
}

TEST(CommunicatorOverPlugin, ANetworkThatIsNotThereIsSaidByName) {
  const Variables variables{{"NCCL_NET", "nowhere"}, {"NCCL_NET_PLUGIN", plugins::testNetFile(9)}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {
    EXPECT_NE(result.init, ncclSuccess);
    EXPECT_THAT(result.text, HasSubstr("there is no network `nowhere` (NCCL_NET)"));
    EXPECT_THAT(result.text, HasSubstr("libnccl-net-test9.so is called Test09"));
  }
}

TEST(CommunicatorOverPlugin, RanksWithDifferentNetworksAreTold) {
  const Variables variables{{"NCCL_NET_PLUGIN", plugins::testNetFile(10)}};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::string texts[2];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      cudaSetDevice(rank);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.netName = rank == 0 ? "Socket" : "Test10";
      ncclComm_t comm = nullptr;
      EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclInvalidUsage);
      texts[rank] = ncclGetLastError(nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts)
    EXPECT_THAT(text, HasSubstr("rank 1 uses network Test10, rank 0 network Socket"));
}

}  // namespace
}  // namespace xylem::comm
