// Every collective, type and operation over every algorithm, protocol and transport, on 1 to 9 ranks as
// threads, against a plain loop.

#include <gmock/gmock.h>

#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/comm/checked_rank.h"
#include "runtime/comm/host_threads.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"
#include "support/sanitizers.h"

namespace xylem::comm {
namespace {

using namespace testing;

const std::vector<int> kMatrixRanks =
    kSanitized ? std::vector{1, 2, 5, 8} : std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9};
const std::vector<std::size_t> kCounts =
    kSanitized ? std::vector<std::size_t>{1, 1003} : std::vector<std::size_t>{1, 17, 1003};

// True for types and operators that a switch of NVLS combines.
bool switches(DataType type, int op) {
  const bool sum = op == static_cast<int>(ReduceOp::kSum);
  const bool order = op == static_cast<int>(ReduceOp::kMin) || op == static_cast<int>(ReduceOp::kMax);
  switch (type) {
    case DataType::kFloat32:
    case DataType::kFloat64:
      return sum;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return sum || order;
    default:
      return false;
  }
}

// PAT neither scales nor reduces to a single rank.
bool runsWith(const std::string& algorithm, Collective collective, DataType type, int op) {
  if (algorithm == "NVLS") {
    if (collective == Collective::kAllGather) return true;
    return (collective == Collective::kAllReduce || collective == Collective::kReduceScatter) &&
           switches(type, op);
  }
  if (algorithm == "NVLSTree") return collective == Collective::kAllReduce && switches(type, op);
  if (algorithm == "Tree") return collective == Collective::kAllReduce;
  if (algorithm != "PAT") return true;
  const bool scales = op == static_cast<int>(ReduceOp::kAvg) || op == kScaledSum;
  return collective == Collective::kAllGather || (collective == Collective::kReduceScatter && !scales);
}

void runEverything(int rank, int ranks, ncclComm_t comm, const std::string& algorithm,
                   std::span<const std::size_t> counts = kCounts) {
  CheckedRank runner(rank, ranks, comm);
  int root = 0;
  for (const Collective collective : kAllCollectives) {
    const bool reduces = collective != Collective::kBroadcast && collective != Collective::kAllGather;
    for (int type = 0; type < kDataTypes; ++type)
      for (int op = 0; op <= (reduces ? kScaledSum : 0); ++op)
        for (const std::size_t count : counts) {
          if (ranks > 1 && !runsWith(algorithm, collective, static_cast<DataType>(type), op)) continue;
          root = (root + 1) % ranks;
          const Call call{collective, static_cast<DataType>(type), op, count, root, (root + op) % 2 == 0};
          runner.run(call);
          if (::testing::Test::HasFatalFailure()) return;
        }
  }
}

// Variables that force ranks to use a transport; "net" also takes away the shared memory of a host.
struct Way {
  const char* name;
  const char* p2pDisable;
  const char* shmDisable;
};
constexpr Way kWays[] = {{"P2P", "0", "0"}, {"SHM", "1", "0"}, {"NET", "1", "1"}};

class Matrix : public ::testing::TestWithParam<std::tuple<Way, const char*, const char*>> {};

TEST_P(Matrix, EveryCollectiveTypeAndOperationIsRight) {
  const auto& [way, algorithm, protocol] = GetParam();
  const Variables variables{{"NCCL_ALGO", algorithm},
                            {"NCCL_PROTO", protocol},
                            {"NCCL_PAT_ENABLE", "1"},
                            {"NCCL_P2P_DISABLE", way.p2pDisable},
                            {"NCCL_SHM_DISABLE", way.shmDisable}};
  for (const int ranks : kMatrixRanks) {
    expectAllJoined(runRanks(ranks, [ranks, algorithm = algorithm](int rank, ncclComm_t comm) {
      runEverything(rank, ranks, comm, algorithm);
    }));
    if (HasFailure()) return;
  }
}

// Small data goes through the mailboxes; large data is exchanged in place.
TEST(DirectMatrix, EveryCollectiveTypeAndOperationIsRight) {
  constexpr std::size_t kFromMailboxesToBuffers[] = {1, 17, 1003, 20011};
  const Variables variables{};
  for (const int ranks : {2, 3, 5, 8}) {
    expectAllJoined(runRanks(ranks, [&](int rank, ncclComm_t comm) {
      runEverything(rank, ranks, comm, "", std::span(kFromMailboxesToBuffers).first(ranks < 8 ? 4 : 3));
    }));
    if (HasFailure()) return;
  }
}

// Ranks as processes, which copy as each of these says: by default, through the kernel, in small pieces and past the caches, through much
// staging memory as between far cores, and in ways that change.
struct Pin {
  const char* name;
  const char* choices;
};
constexpr Pin kPins[] = {
    {"Default", "default"},
    {"Read", "default,read_from=1,block_read_from=1,reduce_read_from=1,staged=32"},
    {"PiecesPastCaches", "default,piece=4096,staged=32,whole=32,stream_message=0,stream_exchange=0,huge_pages=0"},
    {"Far", "default,cycle=2000000,staged=32768,far=1,stream_far=1"},
    {"Adapting", "default,read_from=20000,block_read_from=20000,reduce_read_from=20000,adapt=1"}};
constexpr int kPinnedRanks = 3;

const RankRole kPinned("matrix pinned", [](int rank, int ranks, const ncclUniqueId& id) {
  constexpr std::size_t kPinnedCounts[] = {17, 20011};
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  runEverything(rank, ranks, comm, "", kPinnedCounts);
  if (::testing::Test::HasFailure()) return 2;
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : 3;
});

class PinnedMatrix : public ::testing::TestWithParam<Pin> {};

TEST_P(PinnedMatrix, EveryCollectiveTypeAndOperationIsRight) {
  const Variables variables{{"XYLEM_COPY_CHOICES", GetParam().choices}};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::unique_ptr<RankProcess>> processes;
  for (int rank = 0; rank < kPinnedRanks; ++rank)
    processes.push_back(std::make_unique<RankProcess>("matrix pinned", rank, kPinnedRanks, id));
  for (const auto& process : processes) EXPECT_EQ(process->waitAtMost(kSanitized ? 240 : 60), 0);
}

INSTANTIATE_TEST_SUITE_P(All, PinnedMatrix, ::testing::ValuesIn(kPins),
                         [](const auto& info) { return std::string(info.param.name); });

std::string nameOf(const ::testing::TestParamInfo<Matrix::ParamType>& info) {
  const auto& [way, algorithm, protocol] = info.param;
  return std::string(way.name) + "_" + algorithm + "_" + protocol;
}

INSTANTIATE_TEST_SUITE_P(All, Matrix,
                         ::testing::Combine(::testing::ValuesIn(kWays), ::testing::Values("Ring", "Tree"),
                                            ::testing::Values("LL", "LL128", "Simple")),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Logarithmic, Matrix,
                         ::testing::Combine(::testing::ValuesIn(kWays), ::testing::Values("PAT"),
                                            ::testing::Values("Simple")),
                         nameOf);

// The exchange of one host plays the switch, where the ranks map each other's memory; otherwise queues do.
INSTANTIATE_TEST_SUITE_P(Switch, Matrix,
                         ::testing::Combine(::testing::Values(kWays[0], kWays[1]), ::testing::Values("NVLS"),
                                            ::testing::Values("Simple")),
                         nameOf);

// The heads of several hosts form trees.
class HostMatrix : public ::testing::TestWithParam<Way> {};

TEST_P(HostMatrix, TreesOfHeadsAreRight) {
  const Variables variables{{"NCCL_ALGO", "NVLSTree"},
                            {"NCCL_P2P_DISABLE", GetParam().p2pDisable},
                            {"NCCL_SHM_DISABLE", GetParam().shmDisable},
                            {"NCCL_MIN_NCHANNELS", "2"}};
  for (const auto& [hosts, perHost] : {std::pair{2, 1}, {2, 3}, {3, 2}, {5, 1}}) {
    const int ranks = hosts * perHost;
    expectAllJoined(runOnHosts(hosts, perHost, [&](int rank, ncclComm_t comm) {
      runEverything(rank, ranks, comm, "NVLSTree");
      CheckedRank(rank, ranks, comm).run({Collective::kAllReduce, DataType::kFloat32, 0, 700'003});
    }));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostMatrix, ::testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

// Counts that go through the mailboxes and beyond them.
TEST(Nvls, RunsWhereNcclAlgoLeavesNothingElse) {
  const Variables variables{{"NCCL_ALGO", "ring;allreduce:nvls"}};
  expectAllJoined(runRanks(4, [](int rank, ncclComm_t comm) {
    CheckedRank runner(rank, 4, comm);
    for (const std::size_t count : {std::size_t{1}, std::size_t{1003}, std::size_t{300'000}})
      for (const Collective collective :
           {Collective::kAllReduce, Collective::kBroadcast, Collective::kAllReduce})
        runner.run({collective, DataType::kFloat32, 0, count, 1, false});
    // One group with both: an exchange, and a ring.
    std::vector<float> a(100, 1), b(100, static_cast<float>(rank));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ncclAllReduce(a.data(), a.data(), a.size(), ncclFloat, ncclSum, comm, nullptr);
    ncclBroadcast(b.data(), b.data(), b.size(), ncclFloat, 3, comm, nullptr);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(a[99], 4);
    EXPECT_EQ(b[99], 3);
  }));
}

TEST(Nvls, SaysWhatItCannotDo) {
  const auto refused = [](std::initializer_list<std::pair<std::string, std::string>> set, ncclDataType_t type,
                          const char* why) {
    const Variables variables(set);
    expectAllJoined(runRanks(2, [&](int, ncclComm_t comm) {
      std::vector<std::byte> data(800);
      EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 100, type, ncclProd, comm, nullptr),
                ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm), ::testing::HasSubstr(why));
    }));
  };
  refused({{"NCCL_ALGO", "NVLS"}}, ncclFloat, "NVLink multicast does not do prod of float");
  refused({{"NCCL_ALGO", "NVLS"}, {"XYLEM_DIRECT", "0"}}, ncclFloat, "no algorithm and protocol can run");
}

}  // namespace
}  // namespace xylem::comm
