// Groups: sends and receives in any pattern, several operations, communicators and streams at once. And many calls one after the other.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <tuple>

#include "runtime/api/cuda_handles.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/device/scheduler.h"
#include "support/reused_buffer.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::HasSubstr;

#define CHECK_NCCL(call) ASSERT_EQ((call), ncclSuccess) << ncclGetLastError(nullptr)

constexpr std::size_t kPeriod = 9973;

// The values that `from` sends to `to`. They repeat after kPeriod elements.
void fill(std::span<std::int64_t> values, int from, int to) {
  for (std::size_t i = 0; i < std::min(values.size(), kPeriod); ++i)
    values[i] = from * 1'000'000 + to * 10'000 + static_cast<std::int64_t>(i);
  for (std::size_t filled = kPeriod; filled < values.size(); filled *= 2)
    std::memcpy(&values[filled], values.data(), std::min(filled, values.size() - filled) * sizeof(values[0]));
}

// Number of elements that `from` sends to `to`.
using ElementsOfPair = std::size_t (*)(int from, int to, int ranks);

// The memory of a rank for all peers, which it uses in each round.
struct Buffers {
  explicit Buffers(int ranks) : out(static_cast<std::size_t>(ranks)), in(out.size()) {}

  static std::span<std::int64_t> get(ReusedBuffer& buffer, std::size_t elements) {
    const std::span<std::byte> bytes = buffer.get(elements * sizeof(std::int64_t));
    return {reinterpret_cast<std::int64_t*>(bytes.data()), elements};
  }

  std::vector<ReusedBuffer> out, in;
};

void exchange(int rank, int ranks, ncclComm_t comm, Buffers& buffers, ElementsOfPair pattern) {
  std::vector<std::span<const std::int64_t>> received;
  ncclGroupStart();
  for (int peer = 0; peer < ranks; ++peer) {
    const auto mine = Buffers::get(buffers.out[static_cast<std::size_t>(peer)], pattern(rank, peer, ranks));
    fill(mine, rank, peer);
    const auto theirs = Buffers::get(buffers.in[static_cast<std::size_t>(peer)], pattern(peer, rank, ranks));
    std::ranges::fill(theirs, -1);
    received.push_back(theirs);
    if (!mine.empty()) {
      CHECK_NCCL(ncclSend(mine.data(), mine.size(), ncclInt64, peer, comm, nullptr));
    }
    if (!theirs.empty()) {
      CHECK_NCCL(ncclRecv(theirs.data(), theirs.size(), ncclInt64, peer, comm, nullptr));
    }
  }
  CHECK_NCCL(ncclGroupEnd());
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  for (int peer = 0; peer < ranks; ++peer) {
    const std::span<const std::int64_t> theirs = received[static_cast<std::size_t>(peer)];
    std::vector<std::int64_t> expected(std::min(theirs.size(), kPeriod));
    fill(expected, peer, rank);
    const auto first = theirs.begin(), second = first + static_cast<std::ptrdiff_t>(expected.size());
    auto wrong = std::mismatch(first, second, expected.begin()).first;
    if (wrong == second) wrong = std::mismatch(second, theirs.end(), first).first;  // it repeats itself
    ASSERT_EQ(wrong, theirs.end()) << "from " << peer << " to " << rank << " element " << wrong - first;
  }
}

struct NamedPattern {
  const char* name;
  ElementsOfPair pattern;
};

class GroupPattern : public ::testing::TestWithParam<std::tuple<NamedPattern, const char*>> {};

TEST_P(GroupPattern, ReachesEverybody) {
  const auto& [pattern, p2pDisabled] = GetParam();
  // A quarter of the usual queues: a quarter of the data fills them.
  const Variables variables{{"NCCL_P2P_DISABLE", p2pDisabled}, {"NCCL_BUFFSIZE", "1048576"}};
  for (const int ranks : {1, 2, 3, 5, 8})
    expectAllJoined(runRanks(ranks, [&, pattern = pattern](int rank, ncclComm_t comm) {
      Buffers buffers(ranks);
      for (int again = 0; again < 3; ++again) exchange(rank, ranks, comm, buffers, pattern.pattern);
    }));
}

constexpr NamedPattern kPatterns[] = {
    {"AllToAll", [](int, int, int) -> std::size_t { return 1000; }},
    {"AllToAllUneven",
     [](int from, int to, int) -> std::size_t {
       return static_cast<std::size_t>((from * 7 + to * 3) % 5) * 10'000;
     }},
    {"Scatter", [](int from, int, int) -> std::size_t { return from == 0 ? 3 : 0; }},
    {"Gather", [](int, int to, int ranks) -> std::size_t { return to == ranks - 1 ? 17'500 : 0; }},
    {"Ring",
     [](int from, int to, int ranks) -> std::size_t { return to == (from + 1) % ranks ? 125'000 : 0; }},
    {"Neighbours",
     [](int from, int to, int ranks) -> std::size_t {
       return to == (from + 1) % ranks || from == (to + 1) % ranks ? 75'000 : 0;
     }},
    {"Self", [](int from, int to, int) -> std::size_t { return from == to ? 12'345 : 0; }},
};

INSTANTIATE_TEST_SUITE_P(All, GroupPattern,
                         ::testing::Combine(::testing::ValuesIn(kPatterns), ::testing::Values("0", "1")),
                         [](const auto& pattern) {
                           return std::string(std::get<0>(pattern.param).name) +
                                  (std::get<1>(pattern.param) == std::string("1") ? "_SHM" : "_P2P");
                         });

TEST(Group, ManySendsToOneRankKeepTheirOrder) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    std::vector<int> values(50);
    if (rank == 0) std::iota(values.begin(), values.end(), 0);
    CHECK_NCCL(ncclGroupStart());
    for (int& value : values)
      CHECK_NCCL(rank == 0 ? ncclSend(&value, 1, ncclInt, 1, comm, nullptr)
                           : ncclRecv(&value, 1, ncclInt, 0, comm, nullptr));
    CHECK_NCCL(ncclGroupEnd());
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
  }));
}

// Outside of a group, a rank sends long before the other one receives, both ways.
TEST(Group, UngroupedSendsNeedNoReceiverYet) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    cudaStream_t sends = nullptr;
    ASSERT_EQ(cudaStreamCreate(&sends), cudaSuccess);
    std::vector<int> out(100, rank), in(100, -1);
    CHECK_NCCL(ncclSend(out.data(), out.size(), ncclInt, 1 - rank, comm, sends));
    CHECK_NCCL(ncclRecv(in.data(), in.size(), ncclInt, 1 - rank, comm, sends));
    ASSERT_EQ(cudaStreamSynchronize(sends), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(in.back(), 1 - rank);
    EXPECT_EQ(cudaStreamDestroy(sends), cudaSuccess);
  }));
}

TEST(Group, CollectivesOfAllKindsAndSizesAreOneLaunch) {
  const Variables variables{{"NCCL_MIN_NCHANNELS", "3"}};
  expectAllJoined(runRanks(3, [](int rank, ncclComm_t comm) {
    constexpr std::size_t kOperations = 100;
    std::vector<std::vector<std::int32_t>> data(kOperations);
    std::vector<std::int32_t> gathered(3 * 1000, -1), own(1000, rank);
    CHECK_NCCL(ncclGroupStart());
    for (std::size_t i = 0; i < kOperations; ++i) {
      data[i].assign(i * 37, rank + 1);
      CHECK_NCCL(
          ncclAllReduce(data[i].data(), data[i].data(), data[i].size(), ncclInt32, ncclSum, comm, nullptr));
    }
    CHECK_NCCL(ncclAllGather(own.data(), gathered.data(), own.size(), ncclInt32, comm, nullptr));
    CHECK_NCCL(ncclGroupEnd());
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    for (const auto& values : data)
      EXPECT_EQ(std::count(values.begin(), values.end(), 6), static_cast<std::ptrdiff_t>(values.size()));
    for (int r = 0; r < 3; ++r) EXPECT_EQ(gathered[static_cast<std::size_t>(r) * 1000 + 999], r);
  }));
}

TEST(Group, OneThatMovesNothingDoesNotTakeTheOthersPlace) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int, ncclComm_t comm) {
    std::int32_t value = 1;
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(ncclAllReduce(&value, &value, 0, ncclInt32, ncclSum, comm, nullptr));
    CHECK_NCCL(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
    CHECK_NCCL(ncclGroupEnd());
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(value, 2);
  }));
}

TEST(Group, StreamsOfOneGroupWaitForEachOther) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int, ncclComm_t comm) {
    cudaStream_t streams[3];
    for (cudaStream_t& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    std::vector<std::int32_t> data(3 * 1000, -1), copy(3 * 1000, 0);
    for (int again = 0; again < 20; ++again) {
      // In each stream, work before the group stays before it, and work after it stays after it.
      for (std::size_t s = 0; s < 3; ++s)
        cudaMemsetAsync(&data[s * 1000], again, 1000 * sizeof data[0], streams[s]);
      CHECK_NCCL(ncclGroupStart());
      for (std::size_t s = 0; s < 3; ++s)
        CHECK_NCCL(
            ncclAllReduce(&data[s * 1000], &data[s * 1000], 1000, ncclUint8, ncclSum, comm, streams[s]));
      CHECK_NCCL(ncclGroupEnd());
      for (std::size_t s = 0; s < 3; ++s)
        cudaMemcpyAsync(&copy[s * 1000], &data[s * 1000], 1000, cudaMemcpyDefault, streams[s]);
      for (const cudaStream_t stream : {streams[2], streams[0], streams[1]})
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << ncclGetLastError(comm);
      for (std::size_t s = 0; s < 3; ++s)
        EXPECT_EQ(reinterpret_cast<const unsigned char*>(&copy[s * 1000])[999], 2 * again);
    }
    for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }));
}

// One thread for all ranks: it joins, operates and leaves by groups.
TEST(Group, OneThreadDrivesAllRanks) {
  const Variables variables{};
  constexpr int kRanks = 4;
  ncclComm_t comms[kRanks] = {};
  cudaStream_t streams[kRanks] = {};
  CHECK_NCCL(ncclCommInitAll(comms, kRanks, nullptr));
  std::vector<std::vector<float>> data(kRanks, std::vector<float>(100'000, 1));
  for (int r = 0; r < kRanks; ++r) {
    cudaSetDevice(r);
    ASSERT_EQ(cudaStreamCreate(&streams[r]), cudaSuccess);
  }
  CHECK_NCCL(ncclGroupStart());
  for (int r = 0; r < kRanks; ++r) {
    float* own = data[static_cast<std::size_t>(r)].data();
    CHECK_NCCL(ncclAllReduce(own, own, 100'000, ncclFloat, ncclSum, comms[r], streams[r]));
  }
  CHECK_NCCL(ncclGroupEnd());
  for (int r = 0; r < kRanks; ++r) {
    ASSERT_EQ(cudaStreamSynchronize(streams[r]), cudaSuccess) << ncclGetLastError(comms[r]);
    EXPECT_EQ(data[static_cast<std::size_t>(r)][99'999], kRanks);
    EXPECT_EQ(cudaStreamDestroy(streams[r]), cudaSuccess);
    CHECK_NCCL(ncclCommDestroy(comms[r]));
  }
  cudaSetDevice(0);
}

// One thread for two ranks, which makes calls outside of groups and never waits.
TEST(Calls, EachRunsWhatWasIssuedBefore) {
  const Variables variables{};
  constexpr int kRanks = 2, kCalls = 1200;
  ncclComm_t comms[kRanks] = {};
  cudaStream_t streams[kRanks] = {};
  std::vector<std::int64_t> data[kRanks];
  CHECK_NCCL(ncclCommInitAll(comms, kRanks, nullptr));
  const auto call = [&](int rank, int i) {
    std::int64_t* const own = &data[rank][static_cast<std::size_t>(i)];
    CHECK_NCCL(ncclAllReduce(own, own, 1, ncclInt64, ncclSum, comms[rank], streams[rank]));
  };
  for (int rank = 0; rank < kRanks; ++rank) {
    cudaSetDevice(rank);
    ASSERT_EQ(cudaStreamCreate(&streams[rank]), cudaSuccess);
    for (int i = 0; i < kCalls; ++i) data[rank].push_back(i + rank);
    call(rank, 0);
  }
  const auto wait = [&] {
    for (int rank = 0; rank < kRanks; ++rank)
      ASSERT_EQ(cudaStreamSynchronize(streams[rank]), cudaSuccess) << ncclGetLastError(comms[rank]);
  };
  wait();
  for (cudaStream_t stream : streams) api::streamOf(stream)->queue().attend();  // keeps the workers away
  const auto left = [&](int rank) {
    const device::Stream& queue = api::streamOf(streams[rank])->queue();
    return queue.enqueued() - queue.finished();
  };
  // The other rank is there soon, so that one call at most is left.
  int i = 1;
  for (; i < 100; ++i)
    for (int rank = 0; rank < kRanks; ++rank) {
      call(rank, i);
      ASSERT_LE(left(rank), 1u) << "rank " << rank << ", call " << i;
    }
  // It is late, so that all are left.
  for (int rank = 0; rank < kRanks; ++rank)
    for (int later = i; later < kCalls; ++later) call(rank, later);
  EXPECT_GT(left(0), device::Scheduler::kMostAhead);
  for (cudaStream_t stream : streams) api::streamOf(stream)->queue().leave();
  wait();
  for (const auto& own : data)
    for (int at = 0; at < kCalls; ++at) ASSERT_EQ(own[static_cast<std::size_t>(at)], 2 * at + 1);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(cudaStreamDestroy(streams[rank]), cudaSuccess);
    CHECK_NCCL(ncclCommDestroy(comms[rank]));
  }
  cudaSetDevice(0);
}

// A rank may name either of them first.
TEST(Group, TwoCommunicatorsInOneGroup) {
  const Variables variables{};
  ncclUniqueId second;
  CHECK_NCCL(ncclGetUniqueId(&second));
  expectAllJoined(runRanks(3, [&](int rank, ncclComm_t first) {
    ncclComm_t other = nullptr;
    CHECK_NCCL(ncclCommInitRank(&other, 3, second, 2 - rank));
    for (const bool turned : {false, rank == 1, rank == 2}) {
      std::vector<std::int32_t> a(5000, 1), b(5000, 2);
      const auto sum = [&](bool isFirst) {
        auto& data = isFirst ? a : b;
        CHECK_NCCL(ncclAllReduce(data.data(), data.data(), data.size(), ncclInt32, ncclSum,
                                 isFirst ? first : other, nullptr));
      };
      CHECK_NCCL(ncclGroupStart());
      sum(!turned);
      sum(turned);
      CHECK_NCCL(ncclGroupEnd());
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
      EXPECT_EQ(a[4999], 3);
      EXPECT_EQ(b[4999], 6);
    }
    CHECK_NCCL(ncclCommDestroy(other));
  }));
}

TEST(Group, ASendToOneselfNeedsItsReceive) {
  const Variables variables{};
  expectAllJoined(runRanks(1, [](int, ncclComm_t comm) {
    int value = 0;
    EXPECT_EQ(ncclSend(&value, 1, ncclInt, 0, comm, nullptr), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("needs its receive"));
    // The communicator still works.
    int other = 7;
    CHECK_NCCL(ncclAllReduce(&other, &value, 1, ncclInt, ncclSum, comm, nullptr));
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(value, 7);
  }));
}

TEST(Group, CanBeSimulated) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int, ncclComm_t comm) {
    std::vector<float> data(1 << 20, 1);
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr));
    CHECK_NCCL(ncclGroupSimulateEnd(&info));
    EXPECT_GT(info.estimatedTime, 0);
    EXPECT_EQ(data[0], 1);
  }));
}

}  // namespace
}  // namespace xylem::comm
