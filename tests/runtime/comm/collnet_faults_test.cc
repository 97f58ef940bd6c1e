// CollNet and NVLS when one of the ranks, which are processes here, has a fault: a head of a chain or of a host dies, a
// plugin never connects, hosts lack such a network.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/temporary_directory.h"
#include "runtime/comm/checked_rank.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/plugins/test_net.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kVersion = 10;
constexpr int kSeconds = 60;  // limit for a process that ends by itself

constexpr const char* kChain = "AllReduce:CollnetChain";

// Processes of a job that uses only CollNet, or the algorithms given, for AllReduce, on hosts with `perHost` ranks each.
class CollNetJob {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  CollNetJob(const std::string& role, int hosts, int perHost, const Environment& everywhere,
             const Environment& onLastHost = {}, const char* algorithms = kChain) {
    const Variables variables{{"NCCL_NET_PLUGIN", plugins::testNetFile(kVersion)},
                              {"NCCL_NET", plugins::testNetName(kVersion)},
                              {"NCCL_COLLNET_ENABLE", "1"},
                              {"NCCL_ALGO", algorithms},
                              {"NCCL_DEBUG", "INFO"},
                              {"NCCL_DEBUG_SUBSYS", "INIT,NET,TUNING"},
                              {"XYLEM_TEST_FOLDER", folder_ / ""}};
    ncclUniqueId id, next;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(ncclGetUniqueId(&next), ncclSuccess) << ncclGetLastError(nullptr);
    const int ranks = hosts * perHost;
    for (int rank = 0; rank < ranks; ++rank) {
      Environment own = everywhere;
      own.emplace_back("NCCL_HOSTID", fmt::format("host-{}", rank / perHost));
      own.emplace_back("NCCL_DEBUG_FILE", file("log", rank));
      own.emplace_back("XYLEM_TEST_NEXT_ID", hexOf(next));
      if (rank / perHost == hosts - 1) own.insert(own.end(), onLastHost.begin(), onLastHost.end());
      for (const auto& [name, value] : own) setenv(name.c_str(), value.c_str(), 1);
      processes_.push_back(std::make_unique<RankProcess>(role, rank, ranks, id));
      for (const auto& variable : own) unsetenv(variable.first.c_str());
    }
  }

  std::string file(const std::string& what, int rank) const {
    return folder_ / fmt::format("{}.{}", what, rank);
  }
  std::string log(int rank) const {
    std::ostringstream text;
    text << std::ifstream(file("log", rank)).rdbuf();
    return text.str();
  }
  // Whether the rank is the head of its host's chain on some channel.
  bool heads(int rank) const {
    return log(rank).find(fmt::format(" : {} [send] and [receive] via COLLNET/", rank)) != std::string::npos;
  }
  // Waits until all ranks have made this mark.
  bool reached(const std::string& mark) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
    for (int rank = 0; rank < ranks(); ++rank)
      for (; !std::filesystem::exists(file(mark, rank));
           std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }
  void kill(int rank) {
    process(rank).kill(SIGKILL);
    process(rank).wait();
  }
  void tellWhoDied(int rank) const {
    // One write, so that a reader finds the mark whole.
    std::ofstream(folder_ / "died.new") << rank;
    std::filesystem::rename(folder_ / "died.new", folder_ / "died");
  }
  int wait(int rank) { return process(rank).waitAtMost(kSeconds); }
  void expectAllWell() {
    for (int rank = 0; rank < ranks(); ++rank)
      EXPECT_EQ(wait(rank), 0) << "rank " << rank << "\n" << log(rank);
  }
  int ranks() const { return static_cast<int>(processes_.size()); }

 private:
  RankProcess& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }

  TemporaryDirectory folder_;
  std::vector<std::unique_ptr<RankProcess>> processes_;
};

int outcome() { return ::testing::Test::HasFailure() ? 1 : 0; }

// Reduces a few times, then leaves.
const RankRole kReduce("collnet", [](int rank, int ranks, const ncclUniqueId& id) {
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  if (comm == nullptr) return 2;
  CheckedRank self(rank, ranks, comm);
  for (const std::size_t count : {1u, 1003u, 300'000u})
    self.run({Collective::kAllReduce, DataType::kInt32, static_cast<int>(ReduceOp::kSum), count});
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return outcome();
});

// Reduces until a rank has died, reports which, and goes on with the others.
const RankRole kLoop("collnet loop", [](int rank, int ranks, const ncclUniqueId& id) {
  const std::string folder = variable("XYLEM_TEST_FOLDER");
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  if (comm == nullptr) return 2;
  std::vector<std::int32_t> data(400'000, 1);
  const auto works = [&] {
    return ncclAllReduce(data.data(), data.data(), data.size(), ncclInt32, ncclMax, comm, nullptr) ==
               ncclSuccess &&
           cudaStreamSynchronize(nullptr) == cudaSuccess;
  };
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(works()) << ncclGetLastError(comm);
  std::ofstream(fmt::format("{}/working.{}", folder, rank)) << "";
  while (works()) {
  }
  const std::string why = ncclGetLastError(comm);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);

  while (!std::filesystem::exists(folder + "/died"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int dead = -1;
  std::ifstream(folder + "/died") >> dead;
  EXPECT_THAT(why, HasSubstr(fmt::format("rank {}", dead)));
  const int self = rank - (rank > dead ? 1 : 0);
  EXPECT_EQ(ncclCommInitRank(&comm, ranks - 1, idOf(variable("XYLEM_TEST_NEXT_ID")), self), ncclSuccess)
      << ncclGetLastError(nullptr);
  CheckedRank(self, ranks - 1, comm)
      .run({Collective::kAllReduce, DataType::kInt32, static_cast<int>(ReduceOp::kSum), 10'000});
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return outcome();
});

struct Death {
  int hosts, perHost;
  bool first;  // of the heads; otherwise the last one
  const char* name = "Chain";
  const char* algorithms = kChain;
};

class CollNetDeath : public ::testing::TestWithParam<Death> {};

TEST_P(CollNetDeath, OfAHeadIsNamedByAllAndTheRestGoOn) {
  const auto& [hosts, perHost, first, name, algorithms] = GetParam();
  CollNetJob job("collnet loop", hosts, perHost, {}, {}, algorithms);
  ASSERT_TRUE(job.reached("working"));
  std::vector<int> heads;
  for (int rank = 0; rank < job.ranks(); ++rank)
    if (job.heads(rank) || std::string_view(name) == "Tree") heads.push_back(rank);
  ASSERT_FALSE(heads.empty());
  const int victim = first ? heads.front() : heads.back();
  job.kill(victim);
  job.tellWhoDied(victim);
  for (int rank = 0; rank < job.ranks(); ++rank)
    if (rank != victim) {
      EXPECT_EQ(job.wait(rank), 0) << "rank " << rank << "\n" << job.log(rank);
    }
}

INSTANTIATE_TEST_SUITE_P(Job, CollNetDeath,
                         ::testing::Values(Death{2, 2, true}, Death{2, 2, false}, Death{3, 1, true},
                                           Death{3, 1, false},
                                           Death{2, 2, false, "Direct", "AllReduce:CollnetDirect"},
                                           Death{3, 2, false, "Tree", "AllReduce:NVLSTree"}),
                         [](const auto& death) {
                           return fmt::format("{}{}x{}{}", death.param.name, death.param.hosts,
                                              death.param.perHost, death.param.first ? "First" : "Last");
                         });

class CollNetHang : public ::testing::TestWithParam<const char*> {};

TEST_P(CollNetHang, OfAConnectTurnsItOffAndHoldsNobodyUp) {
  CollNetJob job("collnet", 2, 2,
                 {{"TEST_COLL_HANG", GetParam()}, {"NCCL_MIN_NCHANNELS", "2"}, {"XYLEM_TIMEOUT", "10"}});
  job.expectAllWell();
  for (int rank = 0; rank < job.ranks(); ++rank) {
    EXPECT_THAT(job.log(rank),
                AllOf(HasSubstr("CollNet is off: rank "), HasSubstr("timed out connecting to "),
                      HasSubstr("in spite of NCCL_ALGO=AllReduce:CollnetChain")));
    EXPECT_FALSE(job.heads(rank));
  }
}

INSTANTIATE_TEST_SUITE_P(Member, CollNetHang, ::testing::Values("0", "1"));

struct Lack {
  const char* name;
  const char* variable;
  const char* value;
};

class CollNetLack : public ::testing::TestWithParam<Lack> {};

TEST_P(CollNetLack, OnOneHostTurnsItOffForAll) {
  CollNetJob job("collnet", 2, 2, {}, {{GetParam().variable, GetParam().value}});
  job.expectAllWell();
  for (int rank = 0; rank < job.ranks(); ++rank) {
    EXPECT_THAT(job.log(rank), AllOf(HasSubstr("CollNet is off: rank 2 has no network that reduces"),
                                     HasSubstr("in spite of NCCL_ALGO=AllReduce:CollnetChain")));
    EXPECT_FALSE(job.heads(rank));
  }
}

INSTANTIATE_TEST_SUITE_P(By, CollNetLack,
                         ::testing::Values(Lack{"Variable", "NCCL_COLLNET_ENABLE", "0"},
                                           Lack{"Plugin", "TEST_COLL_INIT", "2"},
                                           Lack{"Device", "TEST_COLL_DEVICES", "0"}),
                         [](const auto& lack) { return std::string(lack.param.name); });

}  // namespace
}  // namespace xylem::comm
