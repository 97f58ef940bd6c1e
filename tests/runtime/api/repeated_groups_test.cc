// The calls of a group that repeats are only counted until its end. A program that goes on otherwise sees what it would see with any other
// group.

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <functional>
#include <thread>

#include "runtime/comm/rank_threads.h"

namespace {

using namespace xylem::testing;
using ::testing::HasSubstr;

#define CHECK_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)
#define CHECK_CUDA(call) ASSERT_EQ((call), cudaSuccess)

// Each of two ranks sends a number to the other one, again and again.
class Pair {
 public:
  Pair(int rank, ncclComm_t comm) : rank_(rank), comm_(comm) {}

  ncclResult_t send(const int& from) { return ncclSend(&from, 1, ncclInt32, 1 - rank_, comm_, stream); }
  ncclResult_t receive(int& to) { return ncclRecv(&to, 1, ncclInt32, 1 - rank_, comm_, stream); }

  void exchange(int& from, int& to) {
    from = 10 * ++step_ + rank_;
    to = -1;
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(send(from));
    CHECK_NCCL(receive(to));
    CHECK_NCCL(ncclGroupEnd());
    CHECK_CUDA(cudaStreamSynchronize(stream));
    EXPECT_EQ(to, from - rank_ + 1 - rank_);
  }
  void repeat() {
    for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(exchange(in, out));
    out = -1;
  }

  cudaStream_t stream = nullptr;
  int in = 0, out = -1, otherIn = 0, otherOut = -1;

 private:
  const int rank_;
  const ncclComm_t comm_;
  int step_ = 0;
};

class RepeatedGroups : public ::testing::Test {
 protected:
  // Runs on both ranks, once each has repeated its group.
  void onBoth(const std::function<void(Pair& pair, int rank, ncclComm_t comm)>& work) {
    for (const RankResult& result : runRanks(2, [&](int rank, ncclComm_t comm) {
           Pair pair(rank, comm);
           ASSERT_EQ(cudaStreamCreateWithFlags(&pair.stream, cudaStreamNonBlocking), cudaSuccess);
           ASSERT_NO_FATAL_FAILURE(pair.repeat());
           ASSERT_NO_FATAL_FAILURE(work(pair, rank, comm));
           EXPECT_EQ(cudaStreamDestroy(pair.stream), cudaSuccess);
         }))
      EXPECT_EQ(result.init, ncclSuccess) << result.text;
  }

  // The same on a communicator of their own, which `work` ends.
  void onAnother(const std::function<void(Pair& pair, ncclComm_t comm)>& work) {
    onBoth([&](Pair& pair, int rank, ncclComm_t comm) {
      ncclComm_t other = nullptr;
      CHECK_NCCL(ncclCommSplit(comm, 0, rank, &other, nullptr));
      Pair mine(rank, other);
      mine.stream = pair.stream;
      mine.repeat();
      work(mine, other);
      pair.repeat();
    });
  }

  const Variables variables_{};
};

TEST_F(RepeatedGroups, MayEndOtherwise) {
  onBoth([](Pair& pair, int rank, ncclComm_t) {
    pair.exchange(pair.in, pair.otherOut);
    pair.repeat();
    // Shorter.
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(rank == 0 ? pair.send(pair.in) : pair.receive(pair.out));
    CHECK_NCCL(ncclGroupEnd());
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    if (rank == 1) EXPECT_EQ(pair.out, pair.in - 1);
    // Longer.
    pair.otherIn = 7;
    pair.repeat();
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(pair.receive(pair.out));
    CHECK_NCCL(pair.send(pair.otherIn));
    CHECK_NCCL(pair.receive(pair.otherOut));
    CHECK_NCCL(ncclGroupEnd());
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, pair.in - rank + 1 - rank);
    EXPECT_EQ(pair.otherOut, 7);
    pair.repeat();
  });
}

TEST_F(RepeatedGroups, TakeTurns) {
  onBoth([](Pair& pair, int, ncclComm_t) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_NO_FATAL_FAILURE(pair.exchange(pair.in, pair.out));
      ASSERT_NO_FATAL_FAILURE(pair.exchange(pair.otherIn, pair.otherOut));
      if (i % 3 == 0) ASSERT_NO_FATAL_FAILURE(pair.exchange(pair.in, pair.otherOut));
    }
  });
}

TEST_F(RepeatedGroups, MayHaveAGroupInside) {
  onBoth([](Pair& pair, int rank, ncclComm_t) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.receive(pair.out));
    CHECK_NCCL(ncclGroupEnd());
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, -1);
    CHECK_NCCL(ncclGroupEnd());
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, pair.in - rank + 1 - rank);
  });
}

TEST_F(RepeatedGroups, MayBeSimulated) {
  onBoth([](Pair& pair, int, ncclComm_t) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(pair.receive(pair.out));
    CHECK_NCCL(ncclGroupSimulateEnd(nullptr));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "the group has ended";
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, -1);
    pair.repeat();
  });
}

TEST_F(RepeatedGroups, FailAsAWhole) {
  onBoth([](Pair& pair, int, ncclComm_t comm) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(pair.receive(pair.out));
    EXPECT_EQ(ncclSend(&pair.in, 1, ncclInt32, 5, comm, pair.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("peer is 5"));
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, -1);
    pair.repeat();
  });
}

// Also if the call is of another kind, which the group does not collect.
TEST_F(RepeatedGroups, FailWithAnyOfTheirCalls) {
  onBoth([](Pair& pair, int rank, ncclComm_t comm) {
    for (const bool first : {true, false}) {
      const auto fail = [&](bool now) {
        if (now)
          EXPECT_EQ(ncclGather(&pair.in, nullptr, 1, ncclInt32, rank, comm, pair.stream),
                    ncclInvalidArgument);
      };
      CHECK_NCCL(ncclGroupStart());
      fail(first);
      CHECK_NCCL(pair.send(pair.in));
      CHECK_NCCL(pair.receive(pair.out));
      fail(!first);
      EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
      EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("recvbuff"));
      CHECK_CUDA(cudaStreamSynchronize(pair.stream));
      EXPECT_EQ(pair.out, -1);
      pair.exchange(pair.otherIn, pair.otherOut);
      pair.repeat();
    }
  });
}

TEST_F(RepeatedGroups, AreOfOneKind) {
  onBoth([](Pair& pair, int, ncclComm_t comm) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not both"));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    pair.repeat();
  });
}

TEST_F(RepeatedGroups, AreCaptured) {
  onBoth([](Pair& pair, int rank, ncclComm_t) {
    CHECK_CUDA(cudaStreamBeginCapture(pair.stream, cudaStreamCaptureModeThreadLocal));
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(pair.receive(pair.out));
    CHECK_NCCL(ncclGroupEnd());
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamEndCapture(pair.stream, &graph));
    cudaGraphExec_t exec = nullptr;
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    EXPECT_EQ(pair.out, -1);
    pair.in = 100 + rank;
    CHECK_CUDA(cudaGraphLaunch(exec, pair.stream));
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, 101 - rank);
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(graph));
    pair.repeat();
  });
}

TEST_F(RepeatedGroups, StandBehindOtherWork) {
  onBoth([](Pair& pair, int rank, ncclComm_t) {
    struct Late {
      int& in;
      int value;
    } late{pair.in, 1000 + rank};
    const auto write = [](void* argument) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const Late& self = *static_cast<Late*>(argument);
      self.in = self.value;
    };
    CHECK_CUDA(cudaLaunchHostFunc(pair.stream, write, &late));
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(pair.receive(pair.out));
    CHECK_NCCL(ncclGroupEnd());
    CHECK_CUDA(cudaStreamSynchronize(pair.stream));
    EXPECT_EQ(pair.out, 1001 - rank);
    pair.repeat();
  });
}

// The handle of a new stream is often that of one that was destroyed.
TEST_F(RepeatedGroups, GoOnInNewStreams) {
  onBoth([](Pair& pair, int, ncclComm_t) {
    cudaStream_t other = nullptr;
    CHECK_CUDA(cudaStreamCreate(&other));
    for (int i = 0; i < 6; ++i) {
      CHECK_CUDA(cudaStreamDestroy(i % 2 == 0 ? pair.stream : other));
      CHECK_CUDA(cudaStreamDestroy(i % 2 == 0 ? other : pair.stream));
      CHECK_CUDA(cudaStreamCreate(&pair.stream));
      CHECK_CUDA(cudaStreamCreate(&other));
      pair.repeat();
    }
    CHECK_CUDA(cudaStreamDestroy(other));
  });
}

TEST_F(RepeatedGroups, EndWithTheirCommunicator) {
  onAnother([](Pair& pair, ncclComm_t comm) {
    CHECK_NCCL(ncclCommDestroy(comm));
    CHECK_NCCL(ncclGroupStart());
    EXPECT_EQ(pair.send(pair.in), ncclInvalidArgument);
    EXPECT_EQ(pair.receive(pair.out), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("was destroyed"));
  });
}

TEST_F(RepeatedGroups, OfAnAbortedCommunicatorFail) {
  onAnother([](Pair& pair, ncclComm_t comm) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(pair.send(pair.in));
    CHECK_NCCL(pair.receive(pair.out));
    std::thread([comm] { EXPECT_EQ(ncclCommAbort(comm), ncclSuccess); }).join();
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("was destroyed before the group ended"));
    EXPECT_EQ(pair.out, -1);
  });
}

TEST_F(RepeatedGroups, AreCallsOutsideOfGroupsToo) {
  onBoth([](Pair& pair, int rank, ncclComm_t comm) {
    std::array<int, 2> in{}, out{};
    const auto reduce = [&](std::size_t count, ncclRedOp_t op, std::array<int, 2> expected) {
      in = {2 + rank, 5 - rank};
      out = {-1, -1};
      CHECK_NCCL(ncclAllReduce(in.data(), out.data(), count, ncclInt32, op, comm, pair.stream));
      CHECK_CUDA(cudaStreamSynchronize(pair.stream));
      EXPECT_EQ(out, expected);
    };
    for (int i = 0; i < 3; ++i) {
      for (int times = 0; times < 4; ++times) ASSERT_NO_FATAL_FAILURE(reduce(2, ncclSum, {5, 9}));
      ASSERT_NO_FATAL_FAILURE(reduce(2, ncclMax, {3, 5}));
      ASSERT_NO_FATAL_FAILURE(reduce(1, ncclSum, {5, -1}));
      CHECK_NCCL(ncclGroupStart());
      CHECK_NCCL(ncclAllReduce(in.data(), out.data(), 2, ncclInt32, ncclSum, comm, pair.stream));
      CHECK_NCCL(ncclGroupEnd());
      CHECK_CUDA(cudaStreamSynchronize(pair.stream));
      EXPECT_EQ(out[1], 9);
      pair.repeat();
    }
    EXPECT_EQ(ncclAllReduce(in.data(), nullptr, 2, ncclInt32, ncclSum, comm, pair.stream),
              ncclInvalidArgument);
  });
}

// Objects of a thread end in any order, and some make a last call then.
TEST_F(RepeatedGroups, AreForgottenBeforeTheThreadEnds) {
  struct Last {
    std::function<void()> call;
    ~Last() {
      if (call) call();
    }
  };
  runRanks(2, [](int rank, ncclComm_t comm) {
    int in = 1 + rank, out = -1;
    std::thread([&] {
      static thread_local Last last;
      cudaSetDevice(rank);
      const auto reduce = [&] {
        out = -1;
        EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
        EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
        EXPECT_EQ(out, 3);
      };
      last.call = reduce;
      for (int i = 0; i < 5; ++i) reduce();
    }).join();
    EXPECT_EQ(out, 3);
  });
}

TEST_F(RepeatedGroups, CapturedCallsDoNotCountAsMade) {
  onBoth([](Pair& pair, int rank, ncclComm_t comm) {
    int in = 0, out = -1;
    const auto broadcast = [&] { return ncclBroadcast(&in, &out, 1, ncclInt32, 0, comm, pair.stream); };
    CHECK_CUDA(cudaStreamBeginCapture(pair.stream, cudaStreamCaptureModeThreadLocal));
    CHECK_NCCL(broadcast());
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamEndCapture(pair.stream, &graph));
    CHECK_CUDA(cudaGraphDestroy(graph));
    for (int i = 1; i < 4; ++i) {
      in = i + rank;
      CHECK_NCCL(broadcast());
      CHECK_CUDA(cudaStreamSynchronize(pair.stream));
      EXPECT_EQ(out, i);
    }
  });
}

}  // namespace
