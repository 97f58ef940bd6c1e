// AllReduce through a network that reduces (CollNet), which a plugin provides: its results, when it is used,
// and what happens where it does not work or fails.

#include <gmock/gmock.h>

#include <atomic>
#include <barrier>
#include <mutex>

#include "runtime/comm/checked_rank.h"
#include "runtime/comm/host_threads.h"
#include "runtime/plugins/test_net.h"
#include "support/patience.h"
#include "support/sanitizers.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kReducingVersion = 10;

// A job that uses only CollNet for AllReduce.
Variables collnetAlone(int version = kReducingVersion, const char* algorithms = "AllReduce:CollnetChain") {
  return {{"NCCL_NET_PLUGIN", plugins::testNetFile(version)},
          {"NCCL_NET", plugins::testNetName(version)},
          {"NCCL_COLLNET_ENABLE", "1"},
          {"NCCL_ALGO", algorithms}};
}

Call sumOf(DataType type, std::size_t count) {
  return {Collective::kAllReduce, type, static_cast<int>(ReduceOp::kSum), count};
}

class CollNetPlugin : public ::testing::TestWithParam<int> {};

TEST_P(CollNetPlugin, OfEveryVersionReduces) {
  const int version = GetParam();
  const Variables variables = collnetAlone(version);
  const long before = plugins::testCollReduced(version);
  expectAllJoined(runOnHosts(2, 1, [](int rank, ncclComm_t comm) {
    CheckedRank self(rank, 2, comm);
    for (const std::size_t count : {1u, 1003u, 300'000u}) self.run(sumOf(DataType::kFloat32, count));
  }));
  EXPECT_GE(plugins::testCollReduced(version) - before, 2 * 3);
  EXPECT_EQ(plugins::testNetLiving(version), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, CollNetPlugin, ::testing::ValuesIn(plugins::kTestNetVersions),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

struct JobShape {
  int hosts, perHost;
  const char* channels;
};

class CollNetShapes : public ::testing::TestWithParam<JobShape> {};

TEST_P(CollNetShapes, ReducesAllThatTheNetworkCan) {
  const Variables variables = collnetAlone();
  setenv("NCCL_MIN_NCHANNELS", GetParam().channels, 1);
  const int ranks = GetParam().hosts * GetParam().perHost;
  const long before = plugins::testCollReduced(kReducingVersion);
  std::atomic<long> afterNetwork{0};
  expectAllJoined(runOnHosts(GetParam().hosts, GetParam().perHost, [&](int rank, ncclComm_t comm) {
    CheckedRank self(rank, ranks, comm);
    for (const DataType type : {DataType::kInt8, DataType::kUint8, DataType::kInt32, DataType::kUint64,
                                DataType::kFloat32, DataType::kFloat64})
      for (int op = 0; op < static_cast<int>(ReduceOp::kAvg); ++op)
        for (const std::size_t count : {1u, 1003u})
          self.run({Collective::kAllReduce, type, op, count, 0, op % 2 == 1});
    for (const std::size_t count : {100'000u, 1'000'003u}) self.run(sumOf(DataType::kFloat32, count));
    if (rank == 0) afterNetwork = plugins::testCollReduced(kReducingVersion);
    // Reductions that the network cannot do, and other collectives.
    self.run(sumOf(DataType::kFloat16, 5000));
    self.run({Collective::kAllReduce, DataType::kFloat32, static_cast<int>(ReduceOp::kAvg), 5000});
    self.run({Collective::kAllReduce, DataType::kInt32, kScaledSum, 5000});
    self.run({Collective::kAllGather, DataType::kInt32, 0, 5000});
    self.run({Collective::kBroadcast, DataType::kInt32, 0, 5000, ranks - 1});
    self.run({Collective::kReduceScatter, DataType::kInt32, 0, 5000});
  }));
  unsetenv("NCCL_MIN_NCHANNELS");
  EXPECT_GE(afterNetwork - before, 6 * 4 * 2 + 2) << "something went another way";
  EXPECT_EQ(plugins::testNetLiving(kReducingVersion), 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CollNetShapes,
                         ::testing::ValuesIn(kSanitized
                                                 ? std::vector{JobShape{2, 1, "1"}, JobShape{3, 2, "2"}}
                                                 : std::vector{JobShape{2, 1, "1"}, JobShape{2, 2, "1"},
                                                               JobShape{2, 3, "2"}, JobShape{3, 2, "2"}}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.hosts) + "x" +
                                  std::to_string(shape.param.perHost);
                         });

struct StarShape {
  const char* name;
  const char* algorithms;
  int hosts, perHost;
  bool gathers;  // AllGather and ReduceScatter, too: every rank is a head
};

class CollNetStars : public ::testing::TestWithParam<StarShape> {};

TEST_P(CollNetStars, ReduceGatherAndScatterAllThatTheNetworkCan) {
  const Variables variables = collnetAlone(kReducingVersion, GetParam().algorithms);
  setenv("NCCL_MIN_NCHANNELS", "2", 1);
  setenv("XYLEM_NCCL", "2.30.3", 1);  // older rules do not let NVLS gather on several hosts
  const int ranks = GetParam().hosts * GetParam().perHost;
  const bool switched = std::string_view(GetParam().algorithms).find("NVLS") != std::string_view::npos;
  const long before = plugins::testCollReduced(kReducingVersion);
  std::atomic<long> calls{0};
  expectAllJoined(runOnHosts(GetParam().hosts, GetParam().perHost, [&](int rank, ncclComm_t comm) {
    CheckedRank self(rank, ranks, comm);
    const auto run = [&](const Call& call) {
      self.run(call);
      if (rank == 0) ++calls;
    };
    for (const DataType type : {DataType::kInt8, DataType::kInt32, DataType::kUint64, DataType::kFloat32})
      for (int op = 0; op < static_cast<int>(ReduceOp::kAvg); ++op) {
        const bool sum = op == static_cast<int>(ReduceOp::kSum);
        if (switched && (type == DataType::kInt8 || op == static_cast<int>(ReduceOp::kProd))) continue;
        if (switched && type == DataType::kFloat32 && !sum) continue;
        for (const std::size_t count : {1u, 1003u})
          for (const bool inPlace : {false, true}) {
            run({Collective::kAllReduce, type, op, count, 0, inPlace});
            if (!GetParam().gathers) continue;
            run({Collective::kReduceScatter, type, op, count, 0, inPlace});
            if (sum) run({Collective::kAllGather, type, op, count, 0, inPlace});
          }
      }
    run(sumOf(DataType::kFloat32, 700'003));
    if (!GetParam().gathers) return;
    run({Collective::kAllGather, DataType::kFloat32, 0, 200'003});
    run({Collective::kReduceScatter, DataType::kFloat32, 0, 200'003});
  }));
  unsetenv("XYLEM_NCCL");
  unsetenv("NCCL_MIN_NCHANNELS");
  // A call of the network on each host for every collective, at least.
  EXPECT_GE(plugins::testCollReduced(kReducingVersion) - before, calls * GetParam().hosts)
      << "something went another way";
  EXPECT_EQ(plugins::testNetLiving(kReducingVersion), 0);
}

constexpr const char* kDirect = "AllReduce:CollnetDirect;AllGather:CollnetDirect;ReduceScatter:CollnetDirect";
constexpr const char* kSwitch = "AllReduce:NVLS;AllGather:NVLS;ReduceScatter:NVLS";
INSTANTIATE_TEST_SUITE_P(Shapes, CollNetStars,
                         ::testing::Values(StarShape{"Direct2x1", kDirect, 2, 1, true},
                                           StarShape{"Direct2x3", kDirect, 2, 3, false},
                                           StarShape{"Direct3x2", kDirect, 3, 2, false},
                                           StarShape{"Switch2x1", kSwitch, 2, 1, true},
                                           StarShape{"Switch3x2", kSwitch, 3, 2, true}),
                         [](const auto& shape) { return std::string(shape.param.name); });

// How many reductions the network does for a job of two hosts. The results must be right in any case.
long reductionsOf(ReduceOp op = ReduceOp::kSum) {
  const long before = plugins::testCollReduced(kReducingVersion);
  expectAllJoined(runOnHosts(2, 2, [&](int rank, ncclComm_t comm) {
    CheckedRank self(rank, 4, comm);
    for (const std::size_t count : {7u, 60'000u})
      self.run({Collective::kAllReduce, DataType::kInt32, static_cast<int>(op), count});
  }));
  EXPECT_EQ(plugins::testNetLiving(kReducingVersion), 0);
  return plugins::testCollReduced(kReducingVersion) - before;
}

TEST(CollNet, IsOffUnlessItIsEnabled) {
  const Variables variables = collnetAlone();
  setenv("NCCL_COLLNET_ENABLE", "0", 1);
  EXPECT_EQ(reductionsOf(), 0);
}

TEST(CollNet, IsEnabledByTheConfigurationOfACommunicator) {
  const Variables variables = collnetAlone();
  unsetenv("NCCL_COLLNET_ENABLE");
  for (const int enable : {0, 1}) {
    const long before = plugins::testCollReduced(kReducingVersion);
    std::mutex environment;
    std::barrier called(2);
    expectAllJoined(runOnHosts(2, 1, [&](int rank, ncclComm_t comm) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.collnetEnable = enable;
      ncclComm_t part = nullptr;
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      {
        const std::lock_guard lock(environment);
        setenv("NCCL_HOSTID", ("host-" + std::to_string(rank)).c_str(), 1);
        EXPECT_EQ(ncclCommSplit(comm, 0, rank, &part, &config), ncclSuccess);
      }
      called.arrive_and_wait();
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      CheckedRank(rank, 2, part).run(sumOf(DataType::kFloat32, 1000));
      EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
    }));
    EXPECT_EQ(plugins::testCollReduced(kReducingVersion) > before, enable == 1);
  }
}

TEST(CollNet, IsNotUsedWhereTheListLeavesItOut) {
  const Variables variables = collnetAlone();
  setenv("NCCL_ALGO", "Ring", 1);
  EXPECT_EQ(reductionsOf(), 0);
}

TEST(CollNet, IsOneOfManyWithoutAList) {
  const Variables variables = collnetAlone();
  unsetenv("NCCL_ALGO");
  reductionsOf();
}

TEST(CollNet, IsNotUsedOnOneHost) {
  const Variables variables = collnetAlone();
  const long before = plugins::testCollReduced(kReducingVersion);
  expectAllJoined(runRanks(
      2, [](int rank, ncclComm_t comm) { CheckedRank(rank, 2, comm).run(sumOf(DataType::kInt32, 1000)); }));
  EXPECT_EQ(plugins::testCollReduced(kReducingVersion), before);
}

TEST(CollNet, IsOffForAllIfItsConnectFails) {
  const Variables variables = collnetAlone();
  const plugins::Faults faults{{"TEST_COLL_CONNECT", "2"}};
  EXPECT_EQ(reductionsOf(), 0);
}

TEST(CollNet, IsOffIfItTakesLessThanAStep) {
  const Variables variables = collnetAlone();
  const plugins::Faults faults{{"TEST_COLL_MAX", "1000"}};
  EXPECT_EQ(reductionsOf(), 0);
}

TEST(CollNet, LeavesOutAnOperationThatTheNetworkDoesNotDo) {
  const Variables variables = collnetAlone();
  const plugins::Faults faults{{"TEST_COLL_NOT", "2"}};
  EXPECT_EQ(reductionsOf(ReduceOp::kMax), 0);
  EXPECT_GT(reductionsOf(ReduceOp::kMin), 0);
}

TEST(CollNet, ANetworkThatMakesItHardIsNoneTheWorse) {
  const Variables variables = collnetAlone();
  const plugins::Faults faults{{"TEST_COLL_SLOW", "20"}, {"TEST_COLL_BUSY", "3"}};
  EXPECT_GT(reductionsOf(), 0);
}

TEST(CollNet, ServesAGroupOfManyAndWhatFollowsInTheSameStream) {
  const Variables variables = collnetAlone();
  expectAllJoined(runOnHosts(2, 2, [](int rank, ncclComm_t comm) {
    constexpr std::size_t kCount = 20'000;
    std::vector<std::vector<std::int64_t>> data(5, std::vector<std::int64_t>(kCount, rank + 1));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (auto& one : data)
      ASSERT_EQ(ncclAllReduce(one.data(), one.data(), kCount, ncclInt64, ncclSum, comm, nullptr),
                ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (auto& one : data)
      ASSERT_EQ(ncclAllReduce(one.data(), one.data(), kCount, ncclInt64, ncclMax, comm, nullptr),
                ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    for (const auto& one : data) EXPECT_EQ(one, std::vector<std::int64_t>(kCount, 1 + 2 + 3 + 4));
  }));
}

class CollNetFailure : public ::testing::TestWithParam<const char*> {};

TEST_P(CollNetFailure, EndsTheOperationOnAllRanksAndNamesTheCall) {
  const Variables variables = collnetAlone();
  const plugins::Faults faults{{"TEST_COLL_BREAK_AFTER", "3"}, {"TEST_COLL_BREAK", GetParam()}};
  expectAllJoined(runOnHosts(2, 2, [](int, ncclComm_t comm) {
    float x = 1;
    ncclResult_t result = ncclSuccess;
    for (int i = 0; i < 100 && result == ncclSuccess; ++i) {
      result = ncclAllReduce(&x, &x, 1, ncclFloat, ncclMax, comm, nullptr);
      cudaStreamSynchronize(nullptr);
    }
    EXPECT_THAT(result, AnyOf(ncclRemoteError, ncclSystemError));
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("collnet plugin Test10: "));
    EXPECT_THAT(ncclGetLastError(comm), AnyOf(HasSubstr("iallreduce"), HasSubstr("test")));
  }));
  EXPECT_EQ(plugins::testNetLiving(kReducingVersion), 0);
}

INSTANTIATE_TEST_SUITE_P(Results, CollNetFailure, ::testing::Values("2", "3", "6"));

class CollNetAbort : public ::testing::TestWithParam<const char*> {};

TEST_P(CollNetAbort, EndsWhoeverWaitsForTheOthers) {
  const Variables variables = collnetAlone(kReducingVersion, GetParam());
  std::atomic<bool> waits{false};
  expectAllJoined(runOnHosts(2, 1, [&](int rank, ncclComm_t& comm) {
    if (rank == 0) {
      for (testing::Patience patience; !waits;) patience.pause();
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
      comm = nullptr;
      return;
    }
    std::vector<float> data(100'000, 1);
    ASSERT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr),
              ncclSuccess);
    waits = true;
    EXPECT_NE(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank 0"));
  }));
  EXPECT_EQ(plugins::testNetLiving(kReducingVersion), 0);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CollNetAbort,
                         ::testing::Values("AllReduce:CollnetChain", "AllReduce:CollnetDirect",
                                           "AllReduce:NVLS", "AllReduce:NVLSTree"));

}  // namespace
}  // namespace xylem::comm
