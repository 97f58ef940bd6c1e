// ncclCommAbort from other threads, in every state.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <future>
#include <semaphore>

#include "faults/belongings.h"
#include "faults/fault_job.h"
#include "faults/fault_points.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"

namespace xylem {
namespace {

using namespace testing;
using namespace std::chrono_literals;

#define CHECK_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)

void expectSums() {
  expectAllJoined(runRanks(2, [](int, ncclComm_t comm) {
    std::int32_t value = 1;
    CHECK_NCCL(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(value, 2);
  }));
}

// Two ranks that have joined, like two threads of a program.
struct Pair {
  explicit Pair(bool blocking = true) {
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking ? 1 : 0;
    std::thread other([&] { join(1, id, config); });
    join(0, id, config);
    other.join();
  }
  void join(int rank, const ncclUniqueId& id, ncclConfig_t config) {
    cudaSetDevice(rank);
    ncclResult_t state = ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config);
    while (state == ncclInProgress) {
      EXPECT_EQ(ncclCommGetAsyncError(comms[rank], &state), ncclSuccess);
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(state, ncclSuccess) << ncclGetLastError(nullptr);
  }
  ncclComm_t comms[2] = {};
};

// Rank 0 joins in one thread and another thread aborts it at this point; rank 1 is another process. Returns
// false if joining has fewer points.
bool abortJoiningAt(int point, RankPool& pool) {
  const std::string id = newIdHex();
  pool.tell(1, "join 1 2 " + id);
  ncclComm_t comm = nullptr;
  ncclResult_t joined = ncclSuccess;
  std::binary_semaphore reached{0};
  bool there = false;
  std::thread joiner([&] {
    cudaSetDevice(0);
    callAt(point, [&] {
      there = true;
      reached.release();
    });
    joined = ncclCommInitRank(&comm, 2, idOf(id), 0);
    callAt(0, [] {});
    if (!there) reached.release();
  });
  reached.acquire();
  const bool hit = there;
  // Other threads can use the handle while it joins; they have to know from when on.
  const ncclComm_t handle = comm;
  if (hit) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(ncclCommAbort(handle), ncclSuccess);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kBound);
  }
  joiner.join();
  if (!hit) {
    EXPECT_EQ(joined, ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(handle), ncclSuccess);
  }
  const Reply other = pool.reply(1);
  if (other.word == "failed") {
    // The abort may come so late that the root, which rank 0 has made, has gone with it.
    const bool late = other.text.find("nobody listens at") != std::string::npos;
    EXPECT_TRUE(late || names(other.text, 0)) << other.text;
  }
  EXPECT_EQ(pool.ask(1, "abort").word, "aborted");
  return hit;
}

TEST(Abort, EndsJoiningAtAnyPoint) {
  // If a rank gives up before it has said who it is, the others only know that it does not come.
  const Variables here{{"XYLEM_TIMEOUT", kSanitized ? "10" : "2"}};
  RankPool pool(2);
  abortJoiningAt(30, pool);
  const Belongings before = Belongings::settled(Belongings::now());
  int points = 0;
  for (int point = 4; abortJoiningAt(point, pool) && !HasFailure(); point += kSanitized ? 8 : 3) ++points;
  EXPECT_GT(points, 3);
  EXPECT_EQ(Belongings::settled(before).beyond(before), "");
  expectSums();
}

enum class Aborted { kParent, kPart };

// As above, for a split: rank 0 is aborted at this point of it, either the parent or only the new
// communicator.
bool abortSplittingAt(int point, Aborted which, RankPool& pool) {
  const std::string id = newIdHex();
  pool.tell(1, "join 1 2 " + id);
  cudaSetDevice(0);
  ncclComm_t parent = nullptr, part = nullptr;
  EXPECT_EQ(ncclCommInitRank(&parent, 2, idOf(id), 0), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(pool.reply(1).word, "joined");
  pool.tell(1, "split");
  std::binary_semaphore reached{0};
  bool there = false;
  ncclResult_t result = ncclSuccess;
  std::thread splitter([&] {
    cudaSetDevice(0);
    callAt(point, [&] {
      there = true;
      reached.release();
    });
    result = ncclCommSplit(parent, 0, 0, &part, nullptr);
    callAt(0, [] {});
    if (!there) reached.release();
  });
  reached.acquire();
  const bool hit = there;
  // Early on there is no handle yet.
  const bool ofPart = hit && which == Aborted::kPart && part != nullptr;
  if (hit) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(ncclCommAbort(ofPart ? part : parent), ncclSuccess);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kBound);
  }
  splitter.join();
  if (!hit) {
    EXPECT_EQ(result, ncclSuccess);
  }
  // The part may have finished before its parent ends.
  if (result == ncclSuccess && !ofPart) {
    EXPECT_EQ(ncclCommAbort(part), ncclSuccess);
  }
  const Reply other = pool.reply(1);
  if (other.word == "failed") {
    EXPECT_TRUE(names(other.text, 0)) << other.text;
  }
  EXPECT_EQ(pool.ask(1, "abort").word, "aborted");
  if (ofPart || !hit) {
    EXPECT_EQ(ncclCommAbort(parent), ncclSuccess);
  }
  return hit;
}

TEST(Abort, EndsSplittingAtAnyPoint) {
  const Variables here{{"XYLEM_TIMEOUT", kSanitized ? "10" : "2"}};
  RankPool pool(2);
  for (const Aborted which : {Aborted::kParent, Aborted::kPart}) {
    int points = 0;
    for (int point = 1; abortSplittingAt(point, which, pool) && !HasFailure(); point += kSanitized ? 8 : 5)
      ++points;
    EXPECT_GT(points, 3);
  }
  expectSums();
}

class Destroyed : public ::testing::TestWithParam<const char*> {};

// A rank that has left needs no farewell.
TEST_P(Destroyed, BesideAPeerThatIsGoneOrStopped) {
  const Variables here{{"NCCL_P2P_DISABLE", GetParam()}, {"NCCL_SHM_DISABLE", GetParam()}};
  for (const int signal : {SIGKILL, SIGSTOP}) {
    RankPool pool(2);
    FaultJob(pool).startJoining(newIdHex());
    for (const int rank : {0, 1}) EXPECT_EQ(pool.reply(rank).word, "joined");
    for (const int rank : {0, 1}) pool.tell(rank, "sum");
    for (const int rank : {0, 1}) EXPECT_EQ(pool.reply(rank).word, "summed");
    pool.signal(1, signal);
    ASSERT_TRUE(pool.awaitStrike(1));
    const Reply reply = pool.ask(0, "destroy");
    EXPECT_EQ(reply.word, "destroyed");
    EXPECT_EQ(reply.code, ncclSuccess);
  }
}

INSTANTIATE_TEST_SUITE_P(WithoutLocalTransports, Destroyed, ::testing::Values("0", "1"));

TEST(Abort, EndsFinalizingThatWaitsForAPeer) {
  const Variables here{};
  for (const bool blocking : {true, false}) {
    Pair pair(blocking);
    std::vector<float> data(1 << 20, 1);
    cudaSetDevice(0);
    const ncclResult_t begun =
        ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, pair.comms[0], nullptr);
    EXPECT_TRUE(begun == ncclSuccess || begun == ncclInProgress);
    auto finalizing = std::async(std::launch::async, [&] { return ncclCommFinalize(pair.comms[0]); });
    if (blocking)
      EXPECT_EQ(finalizing.wait_for(50ms), std::future_status::timeout);
    else
      EXPECT_EQ(finalizing.get(), ncclInProgress);
    CHECK_NCCL(ncclCommAbort(pair.comms[0]));
    if (blocking) {
      EXPECT_NE(finalizing.get(), ncclSuccess);
    }
    CHECK_NCCL(ncclCommAbort(pair.comms[1]));
    cudaDeviceSynchronize();
  }
  expectSums();
}

TEST(Abort, OfTwoThreadsOneDoesIt) {
  const Variables here{};
  for (int i = 0; i < 20; ++i) {
    Pair pair;
    auto other = std::async(std::launch::async, [&] { return ncclCommAbort(pair.comms[0]); });
    const ncclResult_t mine = ncclCommAbort(pair.comms[0]);
    const ncclResult_t theirs = other.get();
    EXPECT_TRUE((mine == ncclSuccess) != (theirs == ncclSuccess)) << mine << " and " << theirs;
    CHECK_NCCL(ncclCommAbort(pair.comms[1]));
  }
}

TEST(Abort, InAnOpenGroup) {
  const Variables here{};
  Pair pair;
  std::vector<float> data(1000, 1);
  cudaSetDevice(0);
  CHECK_NCCL(ncclGroupStart());
  CHECK_NCCL(
      ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, pair.comms[0], nullptr));
  CHECK_NCCL(ncclCommAbort(pair.comms[0]));
  EXPECT_NE(ncclGroupEnd(), ncclSuccess);
  CHECK_NCCL(ncclCommAbort(pair.comms[1]));
  expectSums();
}

// Its operation waits in a stream behind one of another communicator that cannot go on.
TEST(Abort, DoesNotWaitForOtherCommunicators) {
  const Variables here{};
  Pair stuck, pair;
  std::vector<float> data(1 << 20, 1);
  cudaSetDevice(0);
  for (const ncclComm_t comm : {stuck.comms[0], pair.comms[0]})
    CHECK_NCCL(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr));
  auto aborting = std::async(std::launch::async, [&] { return ncclCommAbort(pair.comms[0]); });
  const bool prompt = aborting.wait_for(5s) == std::future_status::ready;
  EXPECT_TRUE(prompt);
  CHECK_NCCL(ncclCommAbort(stuck.comms[0]));
  EXPECT_EQ(aborting.get(), ncclSuccess);
  for (const ncclComm_t comm : {stuck.comms[1], pair.comms[1]}) CHECK_NCCL(ncclCommAbort(comm));
  cudaDeviceSynchronize();
  expectSums();
}

}  // namespace
}  // namespace xylem
