// Every collective, type and operation over every algorithm, protocol and transport, on 1 to 9 ranks as
// threads, against a plain loop.

#include <gmock/gmock.h>

#include <span>
#include <string>
#include <tuple>

#include "runtime/comm/checked_rank.h"
#include "runtime/comm/rank_threads.h"
#include "support/sanitizers.h"

namespace xylem::comm {
namespace {

using namespace testing;

const std::vector<int> kMatrixRanks =
    kSanitized ? std::vector{1, 2, 5, 8} : std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9};
const std::vector<std::size_t> kCounts =
    kSanitized ? std::vector<std::size_t>{1, 1003} : std::vector<std::size_t>{1, 17, 1003};

// PAT neither scales nor reduces to a single rank.
bool runsWith(const std::string& algorithm, Collective collective, int op) {
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
          if (ranks > 1 && !runsWith(algorithm, collective, op)) continue;
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

}  // namespace
}  // namespace xylem::comm
