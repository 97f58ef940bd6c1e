// Repeated calls reuse what was found out for the last few. Calls of a few shapes in random order, in other
// buffers each time, give what each gives alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "runtime/comm/rank_threads.h"

namespace xylem::comm {
namespace {

using namespace testing;

#define CHECK_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)

enum class Shape { kBroadcast, kReduce, kAllReduce, kScaled, kAllGather, kAllToAll, kRing, kToSelf, kGroup };
constexpr int kShapes = 9;

struct Call {
  Shape shape{};
  std::size_t count = 0;
  int root = 0;
  std::size_t buffer = 0;
  bool waits = false;
  std::int64_t seed = 0;
};

// A random shape; some come several times in a row, or in turn with others.
std::vector<Call> callsOf(unsigned seed, int ranks, int number) {
  constexpr std::array<std::size_t, 6> kCounts{1, 3, 64, 200, 1000, 9000};
  std::mt19937 random(seed);
  std::vector<Call> calls;
  Call call;
  for (int i = 0; i < number; ++i) {
    if (i == 0 || random() % 4 == 0) call.shape = static_cast<Shape>(random() % kShapes);
    if (i == 0 || random() % 4 == 0) call.count = kCounts[random() % kCounts.size()];
    if (i == 0 || random() % 4 == 0) call.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
    if (i > 0 && random() % 2 == 0)
      call = calls[calls.size() - 1 - random() % std::min<std::size_t>(calls.size(), 6)];
    call.buffer = random() % 3;
    call.waits = random() % 3 != 0;
    call.seed = static_cast<std::int64_t>(random() % 1000);
    calls.push_back(call);
  }
  return calls;
}

class Rank {
 public:
  Rank(int rank, int ranks, ncclComm_t comm, std::vector<Call> calls)
      : rank_(rank), ranks_(ranks), comm_(comm), calls_(std::move(calls)) {}

  void run() {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    std::vector<const Call*> open;
    for (const Call& call : calls_) {
      Buffer& buffer = buffers_[call.buffer];
      // Operations that are under way still use the buffer.
      const bool taken = std::any_of(open.begin(), open.end(),
                                     [&](const Call* other) { return other->buffer == call.buffer; });
      if (taken) {
        ASSERT_NO_FATAL_FAILURE(wait(stream, open));
      }
      const std::size_t blocks = static_cast<std::size_t>(ranks_);
      buffer.in.resize(call.count * blocks);
      for (std::size_t i = 0; i < buffer.in.size(); ++i) buffer.in[i] = valueOf(call, rank_, i);
      buffer.out.assign(call.count * blocks, -1);
      ASSERT_NO_FATAL_FAILURE(issue(call, buffer, stream));
      open.push_back(&call);
      if (call.waits) {
        ASSERT_NO_FATAL_FAILURE(wait(stream, open));
      }
    }
    ASSERT_NO_FATAL_FAILURE(wait(stream, open));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }

 private:
  struct Buffer {
    std::vector<std::int64_t> in, out;
  };

  static std::int64_t valueOf(const Call& call, int rank, std::size_t i) {
    return call.seed * 1000 + rank * 100 + static_cast<std::int64_t>(i % 89);
  }

  void issue(const Call& call, Buffer& buffer, cudaStream_t stream) {
    const std::int64_t* in = buffer.in.data();
    std::int64_t* out = buffer.out.data();
    const int next = (rank_ + 1) % ranks_, previous = (rank_ + ranks_ - 1) % ranks_;
    switch (call.shape) {
      case Shape::kBroadcast:
        CHECK_NCCL(ncclBroadcast(in, out, call.count, ncclInt64, call.root, comm_, stream));
        break;
      case Shape::kReduce:
        CHECK_NCCL(ncclReduce(in, out, call.count, ncclInt64, ncclSum, call.root, comm_, stream));
        break;
      case Shape::kAllReduce:
        CHECK_NCCL(ncclAllReduce(in, out, call.count, ncclInt64, ncclSum, comm_, stream));
        break;
      case Shape::kScaled: {
        ncclRedOp_t op;
        std::int64_t factor = call.seed + rank_;
        CHECK_NCCL(ncclRedOpCreatePreMulSum(&op, &factor, ncclInt64, ncclScalarHostImmediate, comm_));
        CHECK_NCCL(ncclAllReduce(in, out, call.count, ncclInt64, op, comm_, stream));
        CHECK_NCCL(ncclRedOpDestroy(op, comm_));
        break;
      }
      case Shape::kAllGather:
        CHECK_NCCL(ncclAllGather(in, out, call.count, ncclInt64, comm_, stream));
        break;
      case Shape::kAllToAll:
        CHECK_NCCL(ncclAlltoAll(in, out, call.count, ncclInt64, comm_, stream));
        break;
      case Shape::kToSelf:
      case Shape::kRing:
        CHECK_NCCL(ncclGroupStart());
        CHECK_NCCL(ncclSend(in, call.count, ncclInt64, next, comm_, stream));
        CHECK_NCCL(ncclRecv(out, call.count, ncclInt64, previous, comm_, stream));
        if (call.shape == Shape::kToSelf) {
          CHECK_NCCL(ncclSend(in, call.count, ncclInt64, rank_, comm_, stream));
          CHECK_NCCL(ncclRecv(out + call.count, call.count, ncclInt64, rank_, comm_, stream));
        }
        CHECK_NCCL(ncclGroupEnd());
        break;
      case Shape::kGroup:
        CHECK_NCCL(ncclGroupStart());
        for (int block = 0; block < ranks_; ++block)
          CHECK_NCCL(ncclAllReduce(in + offset(call, block), out + offset(call, block), call.count, ncclInt64,
                                   ncclSum, comm_, stream));
        CHECK_NCCL(ncclGroupEnd());
        break;
    }
  }

  static std::size_t offset(const Call& call, int block) {
    return call.count * static_cast<std::size_t>(block);
  }

  void wait(cudaStream_t stream, std::vector<const Call*>& open) {
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << ncclGetLastError(comm_);
    for (const Call* call : open)
      for (int block = 0; block < ranks_; ++block)
        for (std::size_t i = 0; i < call->count; ++i)
          ASSERT_EQ(buffers_[call->buffer].out[offset(*call, block) + i], expected(*call, block, i))
              << "shape " << static_cast<int>(call->shape) << " of " << call->count << ", root " << call->root
              << ", rank " << rank_ << ", block " << block << ", element " << i;
    open.clear();
  }

  // -1: the variable is not set.
  std::int64_t expected(const Call& call, int block, std::size_t i) const {
    const bool first = block == 0;
    const int previous = (rank_ + ranks_ - 1) % ranks_;
    std::int64_t sum = 0, scaled = 0;
    const std::size_t at = call.shape == Shape::kGroup ? offset(call, block) + i : i;
    for (int rank = 0; rank < ranks_; ++rank) {
      sum += valueOf(call, rank, at);
      scaled += (call.seed + rank) * valueOf(call, rank, at);
    }
    switch (call.shape) {
      case Shape::kBroadcast:
        return first ? valueOf(call, call.root, i) : -1;
      case Shape::kReduce:
        return first && rank_ == call.root ? sum : -1;
      case Shape::kAllReduce:
        return first ? sum : -1;
      case Shape::kScaled:
        return first ? scaled : -1;
      case Shape::kAllGather:
        return valueOf(call, block, i);
      case Shape::kAllToAll:
        return valueOf(call, block, offset(call, rank_) + i);
      case Shape::kRing:
        return first ? valueOf(call, previous, i) : -1;
      case Shape::kToSelf:
        return first ? valueOf(call, previous, i) : block == 1 ? valueOf(call, rank_, i) : -1;
      case Shape::kGroup:
        return sum;
    }
    return -1;
  }

  const int rank_, ranks_;
  const ncclComm_t comm_;
  const std::vector<Call> calls_;
  std::array<Buffer, 3> buffers_;
};

class RepeatedCalls : public ::testing::TestWithParam<const char*> {};

TEST_P(RepeatedCalls, AreWhatEachOfThemIsAlone) {
  const Variables variables{{"NCCL_P2P_DISABLE", GetParam()}};
  for (const int ranks : {2, 3})
    for (unsigned seed = 1; seed <= 4; ++seed)
      expectAllJoined(runRanks(ranks, [&](int rank, ncclComm_t comm) {
        Rank(rank, ranks, comm, callsOf(seed, ranks, 300)).run();
      }));
}

// Over the mailboxes, and over queues only.
INSTANTIATE_TEST_SUITE_P(All, RepeatedCalls, ::testing::Values("0", "1"),
                         [](const auto& info) { return info.param[0] == '0' ? "Mailboxes" : "Queues"; });

// Looks at a number once it may.
struct Look {
  std::atomic<bool> may{false};
  const int* number = nullptr;
  int seen = -1;
};

void lookAt(void* data) {
  Look& look = *static_cast<Look*>(data);
  while (!look.may) std::this_thread::yield();
  look.seen = *look.number;
}

TEST(RepeatedGroups, WaitForWhatStandsBeforeThemInBothStreams) {
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    cudaStream_t sends = nullptr, receives = nullptr;
    ASSERT_EQ(cudaStreamCreate(&sends), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&receives), cudaSuccess);
    int in = 0, out = -1;
    const auto exchange = [&](int value, cudaStream_t stream) {
      in = value;
      CHECK_NCCL(ncclGroupStart());
      CHECK_NCCL(ncclSend(&in, 1, ncclInt, 1 - rank, comm, sends));
      CHECK_NCCL(ncclRecv(&out, 1, ncclInt, 1 - rank, comm, stream));
      CHECK_NCCL(ncclGroupEnd());
    };
    constexpr int kTimes = 200;
    for (int i = 0; i <= kTimes; ++i) {
      ASSERT_NO_FATAL_FAILURE(exchange(i, sends));
      ASSERT_EQ(cudaStreamSynchronize(sends), cudaSuccess);
    }
    Look look;
    look.number = &out;
    ASSERT_EQ(cudaLaunchHostFunc(receives, lookAt, &look), cudaSuccess);
    ASSERT_NO_FATAL_FAILURE(exchange(2 * kTimes, receives));
    look.may = true;
    EXPECT_EQ(cudaStreamSynchronize(sends), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(receives), cudaSuccess);
    EXPECT_EQ(look.seen, kTimes);
    EXPECT_EQ(out, 2 * kTimes);
    EXPECT_EQ(cudaStreamDestroy(sends), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(receives), cudaSuccess);
  }));
}

}  // namespace
}  // namespace xylem::comm
