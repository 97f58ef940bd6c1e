// Collectives, all-to-all and splits over several hosts that look different, by every algorithm and protocol.

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <span>

#include "hosts/host_job.h"
#include "runtime/comm/checked_rank.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace xylem {
namespace {

using namespace testing;

struct Way {
  const char* algorithm;
  const char* protocol;
};
constexpr Way kWays[] = {{"Ring", "LL"},    {"Ring", "LL128"},  {"Ring", "Simple"}, {"Tree", "LL"},
                         {"Tree", "LL128"}, {"Tree", "Simple"}, {"PAT", "Simple"}};

struct Sample {
  DataType type;
  int op;
};
const Sample kSamples[] = {{DataType::kInt32, static_cast<int>(ReduceOp::kSum)},
                           {DataType::kFloat64, kScaledSum},
                           {DataType::kFloat32, static_cast<int>(ReduceOp::kAvg)},
                           {DataType::kBfloat16, static_cast<int>(ReduceOp::kMax)},
                           {DataType::kUint8, static_cast<int>(ReduceOp::kMin)}};
const std::size_t kCounts[] = {1, 60'000, 1003};
// The number of types and sizes: sanitizers are after the way between hosts, which is the same for all types.
const auto kSamplesTried =
    static_cast<std::size_t>(byEffort({.quick = 2, .normal = kSanitized ? 2 : 5, .night = 5}));
const auto kCountsTried =
    static_cast<std::size_t>(byEffort({.quick = 2, .normal = kSanitized ? 2 : 3, .night = 3}));

// The operations that NCCL has an algorithm for. PAT cannot scale while it scatters.
bool has(const std::string& algorithm, Collective collective, int op) {
  if (algorithm == "Tree") return collective == Collective::kAllReduce;
  if (algorithm == "PAT")
    return collective == Collective::kAllGather ||
           (collective == Collective::kReduceScatter && op != static_cast<int>(ReduceOp::kAvg) &&
            op != kScaledSum);
  return true;
}

void runCollectives(int rank, int ranks, ncclComm_t comm, const std::string& algorithm) {
  CheckedRank self(rank, ranks, comm);
  int root = 0;
  for (const Collective collective : kAllCollectives) {
    const bool reduces = collective != Collective::kBroadcast && collective != Collective::kAllGather;
    for (const Sample& sample : std::span(kSamples, kSamplesTried)) {
      const int op = reduces ? sample.op : 0;
      if (!has(algorithm, collective, op)) continue;
      for (const std::size_t count : std::span(kCounts, kCountsTried)) {
        root = (root + 1) % ranks;
        self.run({collective, sample.type, op, count, root, root % 2 == 0});
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

void expectPatSaysWhatItCannot(int ranks, ncclComm_t comm) {
  const std::vector<float> in(static_cast<std::size_t>(ranks), 1);
  float out = 0;
  EXPECT_EQ(ncclReduceScatter(in.data(), &out, 1, ncclFloat, ncclAvg, comm, nullptr), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(comm), ::testing::HasSubstr("PAT cannot scale while it scatters"));
}

// Every rank sends every other one, and itself, a different number of elements.
void runAllToAll(int rank, int ranks, ncclComm_t comm) {
  const auto countOf = [](int from, int to) { return static_cast<std::size_t>(1 + 977 * from + 3001 * to); };
  std::vector<std::vector<std::int32_t>> out, in;
  for (int peer = 0; peer < ranks; ++peer) {
    out.emplace_back(countOf(rank, peer), rank * 1000 + peer);
    in.emplace_back(countOf(peer, rank), -1);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int peer = 0; peer < ranks; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    ASSERT_EQ(ncclSend(out[p].data(), out[p].size(), ncclInt32, peer, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclRecv(in[p].data(), in[p].size(), ncclInt32, peer, comm, nullptr), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
  for (int peer = 0; peer < ranks; ++peer)
    EXPECT_THAT(in[static_cast<std::size_t>(peer)], ::testing::Each(peer * 1000 + rank));
}

// A part of the communicator behaves like the whole.
void runPart(ncclComm_t whole, int color) {
  ncclComm_t part = nullptr;
  ASSERT_EQ(ncclCommSplit(whole, color, 0, &part, nullptr), ncclSuccess) << ncclGetLastError(whole);
  int rank = -1, ranks = -1;
  ASSERT_EQ(ncclCommUserRank(part, &rank), ncclSuccess);
  ASSERT_EQ(ncclCommCount(part, &ranks), ncclSuccess);
  runCollectives(rank, ranks, part, "Ring");
  if (::testing::Test::HasFatalFailure()) return;
  runAllToAll(rank, ranks, part);
  EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
}

bool oneRankPerHost(const Seat& seat) {
  auto hosts = seat.hostOfRank;
  std::sort(hosts.begin(), hosts.end());
  return std::adjacent_find(hosts.begin(), hosts.end()) == hosts.end();
}

void runEverything(const Seat& seat) {
  for (const Way& way : kWays) {
    const bool pat = std::string(way.algorithm) == "PAT";
    if (pat && !oneRankPerHost(seat)) continue;
    SCOPED_TRACE(std::string(way.algorithm) + "/" + way.protocol);
    setenv("NCCL_ALGO", way.algorithm, 1);
    setenv("NCCL_PROTO", way.protocol, 1);
    setenv("NCCL_PAT_ENABLE", pat ? "1" : "0", 1);
    ncclComm_t comm = seat.join();
    ASSERT_NE(comm, nullptr);
    runCollectives(seat.rank, seat.ranks(), comm, way.algorithm);
    if (pat) expectPatSaysWhatItCannot(seat.ranks(), comm);
    if (::testing::Test::HasFailure()) return;
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
}

// With the algorithm that the plan chooses.
void runTransfersAndParts(const Seat& seat) {
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_PAT_ENABLE"}) unsetenv(name);
  ncclComm_t comm = seat.join();
  ASSERT_NE(comm, nullptr);
  runCollectives(seat.rank, seat.ranks(), comm, "");
  runAllToAll(seat.rank, seat.ranks(), comm);
  runPart(comm, seat.host());
  runPart(comm, seat.localRank());
  if (::testing::Test::HasFailure()) return;
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

const Role kMatrix("matrix", [](const Seat& seat) {
  runEverything(seat);
  if (!::testing::Test::HasFailure()) runTransfersAndParts(seat);
});

class HostMatrix : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
  static void expectAllRight(const JobShape& shape) {
    const Namespaces hosts(static_cast<int>(shape.machines.size()));
    HostJob job(hosts, "matrix", shape);
    for (std::size_t rank = 0; rank < shape.hostOfRank.size(); ++rank)
      EXPECT_EQ(job.wait(static_cast<int>(rank), kSanitized ? 240 : 60), 0) << "rank " << rank;
  }
};

TEST_F(HostMatrix, TwoHostsOfOneRank) {
  expectAllRight({.machines = {hostDevices(1), hostDevices(4)}, .hostOfRank = {0, 1}});
}

TEST_F(HostMatrix, TwoUnevenHosts) {
  expectAllRight({.machines = {zoo("gpu3-2sockets"), hostDevices(1)}, .hostOfRank = {0, 0, 0, 1}});
}

TEST_F(HostMatrix, TwoHostsOverIpv6) {
  expectAllRight({.machines = {detected(), zoo("seed-a40x2")}, .hostOfRank = {0, 0, 1, 1}, .six = true});
}

TEST_F(HostMatrix, ThreeHostsWhoseRanksAlternate) {
  expectAllRight(
      {.machines = {hostDevices(3), zoo("rtx2-rootport-amd"), detected()}, .hostOfRank = {0, 1, 2, 1, 0}});
}

TEST_F(HostMatrix, FiveHostsOfOneRank) {
  expectAllRight(
      {.machines = {zoo("gh200x1"), zoo("gpu1-nic1"), hostDevices(2), detected(), zoo("gpu1-nonic")},
       .hostOfRank = {0, 1, 2, 3, 4}});
}

TEST_F(HostMatrix, FiveUnevenHostsOverIpv6) {
  expectAllRight(
      {.machines = {hostDevices(2), zoo("gpu3-2sockets"), hostDevices(1, 0), zoo("dgxh100-4gpu"), detected()},
       .hostOfRank = {0, 0, 1, 2, 3, 3, 3, 4},
       .six = true});
}

}  // namespace
}  // namespace xylem
