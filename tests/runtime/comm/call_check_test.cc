// Checked mode: calls that do not fit together end with an error on all ranks that names them, instead of a
// hang.

#include "runtime/comm/issue/call_check.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <mutex>

#include "runtime/comm/rank_threads.h"
#include "support/patience.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Eq;
using ::testing::HasSubstr;

CallSignature reduceCall(std::uint64_t count, ReduceOp op = ReduceOp::kSum) {
  CallSignature call;
  call.op = op;
  call.count = count;
  return call;
}

std::vector<GroupCalls> recordsOf(const std::vector<std::vector<CallSignature>>& calls) {
  std::vector<GroupCalls> records;
  for (const auto& group : calls) records.emplace_back(group);
  return records;
}

TEST(GroupCalls, SaysNothingWhereAllCallTheSame) {
  EXPECT_EQ(differences(recordsOf({{reduceCall(5)}, {reduceCall(5)}, {reduceCall(5)}}), 0), "");
}

TEST(GroupCalls, GroupsRanksByWhatTheyCall) {
  EXPECT_EQ(
      differences(recordsOf({{reduceCall(1024)}, {reduceCall(1024)}, {reduceCall(1024)}, {reduceCall(512)}}),
                  17),
      "collective #17: ranks 0-2: AllReduce of 1024 float sum; rank 3: AllReduce of 512 float sum");
}

TEST(GroupCalls, FindsTheFirstCallOfAGroupThatDiffers) {
  EXPECT_EQ(
      differences(recordsOf({{reduceCall(1), reduceCall(2)}, {reduceCall(1), reduceCall(2, ReduceOp::kMax)}}),
                  3),
      "collective #4: rank 0: AllReduce of 2 float sum; rank 1: AllReduce of 2 float max");
  EXPECT_EQ(differences(recordsOf({{reduceCall(1)}, {reduceCall(1), reduceCall(2)}}), 0),
            "collective #1: rank 0: a group of only 1; rank 1: AllReduce of 2 float sum");
}

TEST(GroupCalls, FindsDifferencesBehindThoseThatAreTold) {
  std::vector<CallSignature> mine(40, reduceCall(1)), other = mine;
  other.back().count = 2;
  EXPECT_THAT(differences(recordsOf({mine, other}), 0), HasSubstr("differ after the first 16"));
  EXPECT_EQ(differences(recordsOf({mine, mine}), 0), "");
}

TEST(GroupCalls, WordsThatAreNoCallAreNone) {
  EXPECT_FALSE(unpackCall({0xff, 0, 1}));
  EXPECT_FALSE(unpackCall({std::uint64_t{200} << 8, 0, 1}));
  const CallSignature call{Function::kReduce, DataType::kBfloat16, ReduceOp::kAvg, false, 7, 99};
  EXPECT_EQ(unpackCall(pack(call)), call);
}

// The error that each rank gets, from the call itself or from the stream.
struct Told {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::vector<ncclResult_t> codes;

  void hear(ncclComm_t comm) {
    EXPECT_NE(cudaStreamSynchronize(nullptr), cudaSuccess);
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    const std::lock_guard lock(mutex);
    texts.emplace_back(ncclGetLastError(comm));
    codes.push_back(state);
  }
};

// Runs a call on some ranks; the last rank makes a different one.
template <typename Call>
std::vector<std::string> mismatch(int ranks, Call&& call) {
  Told told;
  const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", "60"}};
  expectAllJoined(runRanks(ranks, [&](int rank, ncclComm_t comm) {
    std::vector<float> data(4096, 1), out(4096 * static_cast<std::size_t>(ranks), 0);
    // First comes a call that fits.
    EXPECT_EQ(ncclAllReduce(data.data(), out.data(), 100, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(out[99], static_cast<float>(ranks));
    EXPECT_EQ(call(rank == ranks - 1, data.data(), out.data(), comm), ncclSuccess);
    told.hear(comm);
  }));
  EXPECT_EQ(told.texts.size(), static_cast<std::size_t>(ranks));
  EXPECT_THAT(told.codes, Each(Eq(ncclInvalidUsage)));
  return told.texts;
}

TEST(CheckedMode, NamesSizesThatDiffer) {
  const auto texts = mismatch(4, [](bool odd, float* data, float* out, ncclComm_t comm) {
    return ncclAllReduce(data, out, odd ? 512 : 1024, ncclFloat, ncclSum, comm, nullptr);
  });
  EXPECT_THAT(texts,
              Each(HasSubstr("collective #1: ranks 0-2: AllReduce of 1024 float sum; rank 3: AllReduce of "
                             "512 float sum")));
}

TEST(CheckedMode, NamesTypesThatDiffer) {
  const auto texts = mismatch(2, [](bool odd, float* data, float* out, ncclComm_t comm) {
    return ncclAllReduce(data, out, 100, odd ? ncclInt32 : ncclFloat, ncclSum, comm, nullptr);
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 0: AllReduce of 100 float sum; rank 1: AllReduce of 100 int32")));
}

TEST(CheckedMode, NamesOperatorsThatDiffer) {
  const auto texts = mismatch(3, [](bool odd, float* data, float* out, ncclComm_t comm) {
    return ncclReduceScatter(data, out, 100, ncclFloat, odd ? ncclMax : ncclSum, comm, nullptr);
  });
  EXPECT_THAT(texts, Each(HasSubstr("ranks 0-1: ReduceScatter of 100 float sum; rank 2: ReduceScatter of 100 "
                                    "float max")));
}

TEST(CheckedMode, NamesRootsThatDiffer) {
  const auto texts = mismatch(3, [](bool odd, float* data, float* out, ncclComm_t comm) {
    return ncclBroadcast(data, out, 100, ncclFloat, odd ? 2 : 0, comm, nullptr);
  });
  EXPECT_THAT(texts, Each(HasSubstr("ranks 0-1: Broadcast of 100 float from root 0; rank 2: Broadcast of 100 "
                                    "float from root 2")));
}

TEST(CheckedMode, NamesFunctionsThatDiffer) {
  const auto texts = mismatch(3, [](bool odd, float* data, float* out, ncclComm_t comm) {
    return odd ? ncclAllGather(data, out, 100, ncclFloat, comm, nullptr)
               : ncclAllReduce(data, out, 100, ncclFloat, ncclSum, comm, nullptr);
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 2: AllGather of 100 float")));
}

TEST(CheckedMode, NothingIsASizeToo) {
  const auto texts = mismatch(3, [](bool odd, float* data, float* out, ncclComm_t comm) {
    return ncclAllReduce(data, out, odd ? 0 : 100, ncclFloat, ncclSum, comm, nullptr);
  });
  EXPECT_THAT(texts, Each(HasSubstr("rank 2: AllReduce of 0 float sum")));
}

TEST(CheckedMode, ARankThatNeverCallsIsNamedWithItsLastCall) {
  const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", "1"}};
  Told told;
  std::atomic<int> left{3};
  expectAllJoined(runRanks(4, [&](int rank, ncclComm_t comm) {
    std::vector<float> data(100, 1);
    EXPECT_EQ(ncclBroadcast(data.data(), data.data(), 7, ncclFloat, 1, comm, nullptr), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    if (rank != 2) {
      EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 100, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
      told.hear(comm);
      --left;
    }
    for (testing::Patience patience; left > 0;) patience.pause();
  }));
  EXPECT_THAT(told.texts,
              Each(HasSubstr("rank 2 has not come to collective #1, AllReduce of 100 float sum")));
  EXPECT_THAT(told.texts, Each(HasSubstr("the last it came to was #0, Broadcast of 7 float from root 1")));
  EXPECT_THAT(told.codes, Each(Eq(ncclRemoteError)));
}

// Two ranks that begin with different communicators. Usually both say who waits for whom; once one has, and no longer waits, the
// other one may be left with the time-out.
class CycleInCheckedMode : public ::testing::TestWithParam<const char*> {};

TEST_P(CycleInCheckedMode, OverTwoCommunicatorsIsNamed) {
  const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", GetParam()}};
  Told told;
  std::atomic<int> left{2};
  expectAllJoined(runRanks(2, [&](int rank, ncclComm_t comm) {
    ncclComm_t other = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, 1 - rank, &other, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
    std::vector<float> data(100, 1);
    ncclComm_t const first = rank == 0 ? comm : other;
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 7, ncclFloat, ncclSum, first, nullptr), ncclSuccess);
    told.hear(first);
    --left;
    for (testing::Patience patience; left > 0;) patience.pause();
    EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
  }));
  const auto namesCycle = AllOf(HasSubstr("ranks wait for each other over 2 communicators: rank 0 (process "),
                                HasSubstr("which, as rank 0, waits in communicator 0x"),
                                HasSubstr("in AllReduce of 7 float sum, for rank 1"));
  EXPECT_THAT(told.texts, Contains(namesCycle));
  EXPECT_THAT(told.texts, Each(AnyOf(namesCycle, HasSubstr("timed out"))));
  EXPECT_THAT(told.codes, Contains(ncclInvalidUsage));
}
INSTANTIATE_TEST_SUITE_P(After, CycleInCheckedMode, ::testing::Values("30", "3"), [](const auto& info) {
  return info.index == 0 ? "SomeSecondsWithoutChange" : "TheTimeOut";
});

// Many calls on two communicators in the same order, each rank late in turn: slow, but no cycle.
TEST(CheckedMode, TwoCommunicatorsInTheSameOrderAreNoCycle) {
  const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", "60"}};
  expectAllJoined(runRanks(2, [&](int rank, ncclComm_t comm) {
    ncclComm_t other = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, rank, &other, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
    cudaStream_t second = nullptr;
    ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
    std::vector<float> data(100, 1), more(100, 1);
    // The late rank begins when the other one has long waited in both communicators.
    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 7, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(more.data(), more.data(), 7, ncclFloat, ncclSum, other, second), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess) << ncclGetLastError(other);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(data[6] + more[6], 4);
    EXPECT_EQ(cudaStreamDestroy(second), cudaSuccess);
    EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
  }));
}

// A receive that expects something else than its send has.
TEST(CheckedMode, ComparesSendsWithReceives) {
  for (const std::size_t sent : {std::size_t{0}, std::size_t{10}, std::size_t{300'000}}) {
    const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", "60"}};
    Told told;
    expectAllJoined(runRanks(2, [&](int rank, ncclComm_t comm) {
      std::vector<float> data(300'000, 1);
      if (rank == 0) {
        EXPECT_EQ(ncclSend(data.data(), sent, ncclFloat, 1, comm, nullptr), ncclSuccess);
        cudaStreamSynchronize(nullptr);  // small operations are under way before calls are compared
        return;
      }
      EXPECT_EQ(ncclRecv(data.data(), 20, ncclFloat, 0, comm, nullptr), ncclSuccess);
      told.hear(comm);
    }));
    EXPECT_THAT(told.texts, Each(HasSubstr("rank 0: Send of " + std::to_string(sent) +
                                           " float to rank 1; rank 1: Recv of 20 float from rank 0")));
    EXPECT_THAT(told.codes, Each(Eq(ncclInvalidUsage)));
  }
}

// One thread drives all ranks, so no call may wait for another rank.
TEST(CheckedMode, OneThreadDrivesAllRanks) {
  const Variables variables{{"XYLEM_CHECK", "1"}};
  constexpr int kRanks = 3;
  std::array<ncclComm_t, kRanks> comms{};
  ASSERT_EQ(ncclCommInitAll(comms.data(), kRanks, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  std::array<float, kRanks> values{};
  for (int round = 0; round < 5; ++round) {
    values = {1, 2, 3};
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      cudaSetDevice(static_cast<int>(rank));
      ASSERT_EQ(ncclAllReduce(&values[rank], &values[rank], 1, ncclFloat, ncclSum, comms[rank], nullptr),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      cudaSetDevice(rank);
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    }
    EXPECT_THAT(values, Each(6));
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    cudaSetDevice(static_cast<int>(rank));
    ASSERT_EQ(ncclAllReduce(&values[rank], &values[rank], rank == 1 ? 0 : 1, ncclFloat, ncclSum, comms[rank],
                            nullptr),
              ncclSuccess);
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    cudaSetDevice(static_cast<int>(rank));
    EXPECT_NE(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_THAT(ncclGetLastError(comms[rank]),
                HasSubstr("ranks 0, 2: AllReduce of 1 float sum; rank 1: AllReduce of 0"));
    ncclCommAbort(comms[rank]);
  }
  cudaSetDevice(0);
}

// Groups, streams, splits, and sends among collectives: calls that fit work as without the check.
TEST(CheckedMode, LetsThroughWhatFits) {
  const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", "60"}};
  constexpr int kRanks = 3;
  expectAllJoined(runRanks(kRanks, [&](int rank, ncclComm_t comm) {
    ncclComm_t half = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank / 2, rank, &half, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
    cudaStream_t second = nullptr;
    ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
    const int next = (rank + 1) % kRanks, previous = (rank + kRanks - 1) % kRanks;
    std::vector<float> data(70'000, 1), out(70'000, 0), big(30'000, static_cast<float>(rank)),
        got(30'000, -1);
    std::vector<float> many(20, 1);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      ncclAllReduce(data.data(), out.data(), data.size(), ncclFloat, ncclSum, comm, nullptr);
      ncclSend(big.data(), big.size(), ncclFloat, next, comm, second);
      ncclRecv(got.data(), got.size(), ncclFloat, previous, comm, second);
      ncclSend(nullptr, 0, ncclFloat, next, comm, second);
      ncclRecv(nullptr, 0, ncclFloat, previous, comm, second);
      // More calls than a record lists one by one.
      for (float& value : many) ncclAllReduce(&value, &value, 1, ncclFloat, ncclMax, comm, nullptr);
      ncclBroadcast(many.data(), many.data(), 1, ncclFloat, 0, half, nullptr);
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
      ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess) << ncclGetLastError(comm);
      EXPECT_EQ(out.back(), kRanks);
      EXPECT_EQ(got.back(), static_cast<float>(previous));
      EXPECT_THAT(many, Each(1));
    }
    EXPECT_EQ(cudaStreamDestroy(second), cudaSuccess);
    EXPECT_EQ(ncclCommDestroy(half), ncclSuccess);
  }));
}

// A message that must arrive before another rank can begin its collective.
TEST(CheckedMode, TransfersDoNotWaitForTheComparison) {
  const Variables variables{{"XYLEM_CHECK", "1"}, {"XYLEM_OPERATION_TIMEOUT", "60"}};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    std::vector<float> data(50'000, 1), message(50'000, static_cast<float>(rank));
    ncclGroupStart();
    if (rank == 0) {
      ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr);
      ncclSend(message.data(), message.size(), ncclFloat, 1, comm, nullptr);
    } else {
      ncclRecv(message.data(), message.size(), ncclFloat, 0, comm, nullptr);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    if (rank == 1) {
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
      ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr);
    }
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(data.back(), 2);
    EXPECT_EQ(message.back(), 0);
  }));
}

// Records that take several steps each.
TEST(CheckedMode, GoesThroughSmallBuffersAndTheNetwork) {
  for (const char* disabled : {"0", "1"}) {
    const Variables variables{{"NCCL_P2P_DISABLE", disabled},
                              {"NCCL_SHM_DISABLE", disabled},
                              {"NCCL_BUFFSIZE", "64"},
                              {"XYLEM_CHECK", "1"}};
    Told told;
    expectAllJoined(runRanks(3, [&](int rank, ncclComm_t comm) {
      std::vector<float> many(20, 1);
      ncclGroupStart();
      for (float& value : many) ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr);
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
      EXPECT_THAT(many, Each(3));
      ncclAllReduce(many.data(), many.data(), rank == 0 ? 3 : 4, ncclFloat, ncclSum, comm, nullptr);
      told.hear(comm);
    }));
    EXPECT_THAT(told.texts, Each(HasSubstr("collective #20: rank 0: AllReduce of 3 float sum; ranks 1-2")));
  }
}

}  // namespace
}  // namespace xylem::comm
