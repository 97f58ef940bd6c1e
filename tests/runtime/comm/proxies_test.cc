// Ranks that send through the network device of another rank of their host (PXN, XYLEM_PXN=1): what arrives, and what happens if that
// rank leaves, or dies. The ranks of each host are processes.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "core/temporary_directory.h"
#include "runtime/comm/checked_rank.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/plugins/test_net.h"

namespace xylem::comm::proxies {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kPerHost = 2, kRanks = 4;
constexpr int kVersion = 8;
constexpr int kSeconds = 60;

// Each host has a network device beside each rank, so that rank 0 sends to rank 3 through rank 1.
class Job {
 public:
  // `levelOfOne`: NCCL_P2P_PXN_LEVEL of rank 1.
  explicit Job(const std::string& role, const std::string& pxn = "1", const std::string& levelOfOne = "2") {
    const Variables variables{
        {"NCCL_TOPO_FILE", std::string(XYLEM_SOURCE_DIR) + "/topologies/dgxh100-4gpu.xml"},
        {"NCCL_NET_PLUGIN", plugins::testNetFile(kVersion)},
        {"TEST_NET_DEVICES", "4"},
        {"XYLEM_PXN", pxn},
        {"NCCL_DEBUG", "INFO"},
        {"NCCL_DEBUG_SUBSYS", "ALL"},
        {"XYLEM_TEST_MARK", folder_ / "mark"}};
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
    for (int rank = 0; rank < kRanks; ++rank) {
      const Variables own{{"NCCL_HOSTID", fmt::format("host-{}", rank / kPerHost)},
                          {"NCCL_P2P_PXN_LEVEL", rank == 1 ? levelOfOne : "2"},
                          {"NCCL_DEBUG_FILE", folder_ / fmt::format("log.{}", rank)}};
      processes_.push_back(std::make_unique<RankProcess>(role, rank, kRanks, id));
    }
  }
  RankProcess& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }
  void expectAllWell() {
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(process(rank).waitAtMost(kSeconds), 0) << log(rank);
  }
  // Waits until a rank has made the mark.
  bool marked() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
    while (!std::filesystem::exists(folder_ / "mark") && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::filesystem::exists(folder_ / "mark");
  }
  std::string log(int rank) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / fmt::format("log.{}", rank)).rdbuf();
    return text.str();
  }

 private:
  TemporaryDirectory folder_;
  std::vector<std::unique_ptr<RankProcess>> processes_;
};

ncclComm_t join(int rank, int ranks, const ncclUniqueId& id) {
  cudaSetDevice(rank % kPerHost);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  return comm;
}

// Ends the process as a program does that returns from main().
[[noreturn]] void leave(ncclComm_t comm) {
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

const RankRole kCompute("proxied", [](int rank, int ranks, const ncclUniqueId& id) -> int {
  const ncclComm_t comm = join(rank, ranks, id);
  CheckedRank self(rank, ranks, comm);
  for (const std::size_t count : {1u, 1003u, 200'000u})
    for (const Collective collective :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast})
      self.run({collective, DataType::kInt32, 0, count});
  std::vector<int> out(4 * 300'000), in(out.size());
  for (const std::size_t count : {1u, 300u, 300'000u}) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rank * 10'000'000 + static_cast<int>(i);
    ncclGroupStart();
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * count;
      ncclSend(out.data() + at, count, ncclInt32, peer, comm, nullptr);
      ncclRecv(in.data() + at, count, ncclInt32, peer, comm, nullptr);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    for (int peer = 0; peer < ranks; ++peer)
      for (std::size_t i = 0; i < count; i += 7)
        EXPECT_EQ(in[static_cast<std::size_t>(peer) * count + i],
                  peer * 10'000'000 + static_cast<int>(static_cast<std::size_t>(rank) * count + i));
  }
  leave(comm);
});

TEST(Proxies, SendWhatOtherRanksWrite) {
  Job job("proxied");
  job.expectAllWell();
  EXPECT_THAT(job.log(0), HasSubstr("0[0] -> 3[1] [send] via NET/Test08/1(1)"));
  EXPECT_THAT(job.log(0), HasSubstr("0[0] -> 2[0] [send] via NET/Test08/0\n"));
  EXPECT_THAT(job.log(3), HasSubstr("0[0] -> 3[1] [receive] via NET/Test08/1\n"));
}

TEST(Proxies, AreForGpusUnlessAsked) {
  Job job("proxied", "0");
  job.expectAllWell();
  EXPECT_THAT(job.log(0), HasSubstr("0[0] -> 3[1] [send] via NET/Test08/1\n"));
}

TEST(Proxies, AreNotUsedByRanksThatChooseThemInOtherWays) {
  Job job("proxied", "1", "0");
  job.expectAllWell();
  EXPECT_THAT(job.log(0), HasSubstr("0[0] -> 3[1] [send] via NET/Test08/1\n"));
}

// Ranks 0 and 3 go on when the others have left.
const RankRole kGoOn("proxied after others left", [](int rank, int ranks, const ncclUniqueId& id) -> int {
  const ncclComm_t comm = join(rank, ranks, id);
  if (rank == 1 || rank == 2) leave(comm);
  std::vector<int> data(5000);
  for (int round = 0; round < 40; ++round) {
    // The queues between the two are connected by their first message, when the others have left already.
    std::this_thread::sleep_for(std::chrono::milliseconds(round == 0 ? 300 : 5));
    std::fill(data.begin(), data.end(), rank == 0 ? round : -1);
    if (rank == 0)
      ncclSend(data.data(), data.size(), ncclInt32, 3, comm, nullptr);
    else
      ncclRecv(data.data(), data.size(), ncclInt32, 0, comm, nullptr);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(std::count(data.begin(), data.end(), round), 5000) << round;
  }
  leave(comm);
});

TEST(Proxies, StayForThoseWhoStillSend) {
  Job job("proxied after others left");
  job.expectAllWell();
  EXPECT_THAT(job.log(0), HasSubstr("0[0] -> 3[1] [send] via NET/Test08/1(1)"));
}

// Rank 1 dies, or is stopped. Ranks 0 and 3 talk to no other rank, and find out.
const RankRole kLose("proxied by one that is lost", [](int rank, int ranks, const ncclUniqueId& id) -> int {
  const ncclComm_t comm = join(rank, ranks, id);
  if (rank == 1 || rank == 2) std::this_thread::sleep_for(std::chrono::hours(1));
  std::vector<int> data(100'000);
  ncclResult_t result = ncclSuccess;
  for (int round = 0; result == ncclSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess; ++round) {
    if (rank == 3 && round == 10) std::ofstream(variable("XYLEM_TEST_MARK")) << "under way";
    result = rank == 0 ? ncclSend(data.data(), data.size(), ncclInt32, 3, comm, nullptr)
                       : ncclRecv(data.data(), data.size(), ncclInt32, 0, comm, nullptr);
  }
  if (rank == 0) {
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr(variable("XYLEM_TEST_ERROR")));
  }
  ncclCommAbort(comm);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

void loseRankOne(int signal, const char* error) {
  const Variables expected{{"XYLEM_TEST_ERROR", error}};
  Job job("proxied by one that is lost");
  ASSERT_TRUE(job.marked());
  job.process(1).kill(signal);
  for (const int rank : {0, 3}) EXPECT_EQ(job.process(rank).waitAtMost(kSeconds), 0) << job.log(rank);
}

TEST(Proxies, AreMissedByName) {
  loseRankOne(SIGKILL, "rank 1, which sends to it for this rank (PXN), is gone");
}

TEST(Proxies, AreNamedIfTheyAreStopped) { loseRankOne(SIGSTOP, "rank 1 is stopped (SIGSTOP"); }

}  // namespace
}  // namespace xylem::comm::proxies
