// The functions of nccl.h from NCCL's versions after 2.25.

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "runtime/api/several.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LaterCalls : public Several {
 protected:
  // Block b of rank r's input is 10 r + b, twice.
  static std::vector<int> blocksOf(int rank) {
    std::vector<int> blocks;
    for (int block = 0; block < kRanks; ++block) blocks.insert(blocks.end(), 2, 10 * rank + block);
    return blocks;
  }
};

TEST_F(LaterCalls, AllToAllTransposes) {
  std::vector<std::vector<int>> in, out(kRanks, std::vector<int>(2 * kRanks));
  for (int rank = 0; rank < kRanks; ++rank) in.push_back(blocksOf(rank));
  together([&](int rank) {
    return ncclAlltoAll(in[rank].data(), out[rank].data(), 2, ncclInt32, comms_[rank], streams_[rank]);
  });
  wait();
  EXPECT_THAT(out[0], ElementsAre(0, 0, 10, 10, 20, 20));
  EXPECT_THAT(out[2], ElementsAre(2, 2, 12, 12, 22, 22));
}

// One operation, or sends and receives; alone, and in a group with others.
TEST_F(LaterCalls, AllToAllOfAnySize) {
  for (const int count : {1, 3, 700, 1400, 50000}) {
    const std::size_t all = static_cast<std::size_t>(count) * kRanks;
    std::vector<std::vector<int>> in(kRanks, std::vector<int>(all)), out = in, sums = in;
    for (int rank = 0; rank < kRanks; ++rank) std::iota(in[rank].begin(), in[rank].end(), 1000000 * rank);
    const auto expectTransposed = [&] {
      for (int rank = 0; rank < kRanks; ++rank)
        for (int from = 0; from < kRanks; ++from)
          for (int i = 0; i < count; i += 1 + count / 10)
            ASSERT_EQ(out[rank][from * count + i], 1000000 * from + rank * count + i) << "of " << count;
    };
    const auto transpose = [&](int rank) {
      return ncclAlltoAll(in[rank].data(), out[rank].data(), static_cast<std::size_t>(count), ncclInt32,
                          comms_[rank], streams_[rank]);
    };
    together(transpose);
    wait();
    expectTransposed();
    for (auto& data : out) std::fill(data.begin(), data.end(), -1);
    together([&](int rank) {
      const ncclResult_t summed = ncclAllReduce(in[rank].data(), sums[rank].data(), all, ncclInt32, ncclSum,
                                                comms_[rank], streams_[rank]);
      return summed == ncclSuccess ? transpose(rank) : summed;
    });
    wait();
    expectTransposed();
    EXPECT_EQ(sums[1][all - 1], 3000000 + kRanks * static_cast<int>(all - 1)) << "of " << count;
  }
}

TEST_F(LaterCalls, GatherAndScatterGoThroughTheRoot) {
  for (const bool inPlace : {false, true}) {
    std::vector<int> all = blocksOf(1);
    std::vector<std::vector<int>> parts(kRanks, std::vector<int>(2, -1));
    together([&](int rank) {
      int* part = inPlace && rank == 1 ? &all[2] : parts[rank].data();
      return ncclScatter(rank == 1 ? all.data() : nullptr, part, 2, ncclInt32, 1, comms_[rank],
                         streams_[rank]);
    });
    wait();
    EXPECT_THAT(parts[0], ElementsAre(10, 10));
    EXPECT_THAT(parts[2], ElementsAre(12, 12));
    if (!inPlace) {
      EXPECT_THAT(parts[1], ElementsAre(11, 11));
    }
    std::fill(all.begin(), all.end(), -1);
    if (inPlace) all[2] = all[3] = 11;
    together([&](int rank) {
      const int* part = inPlace && rank == 1 ? &all[2] : parts[rank].data();
      return ncclGather(part, rank == 1 ? all.data() : nullptr, 2, ncclInt32, 1, comms_[rank],
                        streams_[rank]);
    });
    wait();
    EXPECT_EQ(all, blocksOf(1)) << (inPlace ? "in place" : "apart");
  }
}

TEST_F(LaterCalls, ExchangesSayWhatIsWrong) {
  int data[2 * kRanks] = {};
  const auto expect = [](ncclResult_t result, const char* text) {
    EXPECT_EQ(result, ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(text));
  };
  expect(ncclAlltoAll(data, data, 2, ncclInt32, comms_[0], streams_[0]),
         "ncclAlltoAll: sendbuff and recvbuff");
  expect(ncclAlltoAll(nullptr, data, 2, ncclInt32, comms_[0], streams_[0]), "sendbuff is null");
  expect(ncclGather(data, data, 2, ncclInt32, kRanks, comms_[0], streams_[0]), "ncclGather: root is 3");
  expect(ncclScatter(nullptr, data, 2, ncclInt32, 0, comms_[0], streams_[0]), "sendbuff is null");
  expect(ncclGather(data, data, SIZE_MAX, ncclInt32, 0, comms_[0], streams_[0]), "count");
  EXPECT_EQ(ncclAlltoAll(nullptr, nullptr, 0, ncclInt32, comms_[0], streams_[0]), ncclSuccess);
}

TEST_F(LaterCalls, WindowsAreHandles) {
  std::vector<ncclWindow_t> windows(kRanks);
  std::vector<float> memory(100);
  together([&](int rank) {
    return ncclCommWindowRegister(comms_[rank], memory.data(), 400, &windows[rank], NCCL_WIN_COLL_SYMMETRIC);
  });
  EXPECT_NE(windows[0], nullptr);
  EXPECT_EQ(ncclCommDeregister(comms_[0], windows[0]), ncclInvalidArgument) << "not a registration";
  together([&](int rank) { return ncclCommWindowDeregister(comms_[rank], windows[rank]); });
  EXPECT_EQ(ncclCommWindowDeregister(comms_[0], windows[0]), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowDeregister(comms_[0], nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommWindowRegister(comms_[0], memory.data(), 400, &windows[0], 8), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowRegister(comms_[0], memory.data(), 0, &windows[0], 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowRegister(comms_[0], nullptr, 400, &windows[0], 0), ncclInvalidArgument);
}

TEST_F(LaterCalls, ThereAreNoDeviceCommunicators) {
  EXPECT_EQ(ncclDevCommCreate(comms_[0], nullptr, nullptr), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(comms_[0]), HasSubstr("Xylem has no device communicators"));
  EXPECT_EQ(ncclDevCommDestroy(comms_[0], nullptr), ncclSuccess);
  EXPECT_EQ(ncclDevCommCreate(nullptr, nullptr, nullptr), ncclInvalidArgument);
}

TEST_F(LaterCalls, AShrunkCommunicatorHasTheOtherRanks) {
  std::vector<ncclComm_t> rest(kRanks);
  int excluded = 1;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (const int rank : {0, 2})
    EXPECT_EQ(ncclCommShrink(comms_[rank], &excluded, 1, &rest[rank], nullptr, NCCL_SHRINK_DEFAULT),
              ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  ASSERT_EQ(ncclCommQueryProperties(rest[2], &properties), ncclSuccess);
  EXPECT_EQ(properties.rank, 1);
  EXPECT_EQ(properties.nRanks, 2);
  EXPECT_EQ(properties.cudaDev, 2);
  EXPECT_EQ(properties.nLsaTeams, 1);
  EXPECT_EQ(properties.hostRmaSupport, 1);
  // A program compiled with the header of 2.29.3 has fewer fields.
  ncclCommProperties_t older = NCCL_COMM_PROPERTIES_INITIALIZER;
  older.version = NCCL_VERSION(2, 29, 3);
  older.size = 40;
  older.nLsaTeams = 77;
  ASSERT_EQ(ncclCommQueryProperties(rest[2], &older), ncclSuccess);
  EXPECT_EQ(older.nRanks, 2);
  EXPECT_EQ(older.nLsaTeams, 77);
  std::vector<int> value = {1, 2, 4}, sum(kRanks);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (const int rank : {0, 2})
    EXPECT_EQ(ncclAllReduce(&value[rank], &sum[rank], 1, ncclInt32, ncclSum, rest[rank], streams_[rank]),
              ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  wait();
  EXPECT_THAT(sum, ElementsAre(5, 0, 5));
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (const int rank : {0, 2}) EXPECT_EQ(ncclCommDestroy(rest[rank]), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
}

// The others wait for data that rank 1 never sends.
TEST_F(LaterCalls, ARevokedCommunicatorStopsAndMakesAnother) {
  std::vector<int> value = {1, 2, 4}, sum(kRanks);
  for (const int rank : {0, 2})
    EXPECT_EQ(ncclRecv(&value[rank], 1, ncclInt32, 1, comms_[rank], streams_[rank]), ncclSuccess);
  EXPECT_EQ(ncclCommRevoke(comms_[0], 1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRevoke(nullptr, NCCL_REVOKE_DEFAULT), ncclSuccess);
  for (const int rank : {0, 2}) {
    ASSERT_EQ(ncclCommRevoke(comms_[rank], NCCL_REVOKE_DEFAULT), ncclSuccess) << ncclGetLastError(nullptr);
    ncclResult_t state = ncclInternalError;
    EXPECT_EQ(ncclCommGetAsyncError(comms_[rank], &state), ncclSuccess);
    EXPECT_EQ(state, ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(streams_[rank]), cudaSuccess) << "the rank has ended the operation itself";
    EXPECT_EQ(ncclSend(&value[rank], 1, ncclInt32, 1, comms_[rank], streams_[rank]), ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(comms_[rank]), ncclInvalidUsage);
    EXPECT_EQ(ncclCommRevoke(comms_[rank], NCCL_REVOKE_DEFAULT), ncclInvalidArgument) << "once";
  }
  std::vector<ncclComm_t> rest(kRanks);
  int excluded = 1;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (const int rank : {0, 2})
    EXPECT_EQ(ncclCommShrink(comms_[rank], &excluded, 1, &rest[rank], nullptr, NCCL_SHRINK_DEFAULT),
              ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (const int rank : {0, 2})
    EXPECT_EQ(ncclAllReduce(&value[rank], &sum[rank], 1, ncclInt32, ncclSum, rest[rank], streams_[rank]),
              ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(cudaStreamSynchronize(streams_[rank]), cudaSuccess);
    EXPECT_EQ(sum[rank], 5);
    EXPECT_EQ(ncclCommAbort(rest[rank]), ncclSuccess);
  }
}

TEST_F(LaterCalls, ShrinkingSaysWhatIsWrong) {
  ncclComm_t made = nullptr;
  int own = 0, twice[] = {1, 1}, none = 7;
  const auto shrink = [&](int* list, int count, int flags) {
    return ncclCommShrink(comms_[0], list, count, &made, nullptr, flags);
  };
  EXPECT_EQ(shrink(&own, 1, NCCL_SHRINK_DEFAULT), ncclInvalidArgument);
  EXPECT_EQ(shrink(twice, 2, NCCL_SHRINK_DEFAULT), ncclInvalidArgument);
  EXPECT_EQ(shrink(&none, 1, NCCL_SHRINK_DEFAULT), ncclInvalidArgument);
  EXPECT_EQ(shrink(nullptr, 1, NCCL_SHRINK_DEFAULT), ncclInvalidArgument);
  EXPECT_EQ(shrink(twice, 1, 5), ncclInvalidArgument);
  EXPECT_EQ(made, nullptr);
  ncclCommProperties_t properties{};
  EXPECT_EQ(ncclCommQueryProperties(comms_[0], &properties), ncclInvalidUsage);
}

}  // namespace
