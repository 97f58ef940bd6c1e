// AllReduce of GPUs through a network that reduces (CollNet's chain), by the tests' plugin: hosts of several GPUs, whose heads give the
// network the sums of their hosts.

#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>

#include "runtime/comm/host_threads.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"
#include "runtime/plugins/test_net.h"

namespace xylem::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kVersion = 10;
constexpr std::size_t kMost = 40000;

std::map<std::string, std::string> variablesOfChains(const char* algorithms) {
  std::map<std::string, std::string> variables = variablesOf(algorithms, "Simple");
  variables["NCCL_NET_PLUGIN"] = plugins::testNetFile(kVersion);
  variables["NCCL_NET"] = plugins::testNetName(kVersion);
  variables["NCCL_COLLNET_ENABLE"] = "1";
  return variables;
}

struct ChainJob {
  int hosts, perHost;
};

class GpuChains : public ::testing::TestWithParam<ChainJob> {};

// The values of a rank are small integers, so sums and products are exact in every order.
TEST_P(GpuChains, ReduceAllThatTheNetworkCan) {
  const auto [hosts, perHost] = GetParam();
  const int ranks = hosts * perHost;
  const Environment environment(variablesOfChains("AllReduce:CollnetChain"));
  const long before = plugins::testCollReduced(kVersion);
  MappedGpus gpus;
  const auto results = runOnHosts(
      hosts, perHost,
      [&](int rank, ncclComm_t comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        auto* const floats = static_cast<float*>(gpus.allocate(kMost * sizeof(float)));
        auto* const results = static_cast<float*>(gpus.allocate(kMost * sizeof(float)));
        const auto check = [&](ncclRedOp_t op, std::size_t count, bool inPlace) {
          for (std::size_t i = 0; i < count; ++i)
            floats[i] = static_cast<float>((i + static_cast<std::size_t>(rank)) % 3 + 1);
          float* const out = inPlace ? floats : results;
          ASSERT_EQ(ncclAllReduce(floats, out, count, ncclFloat, op, comm, stream), ncclSuccess)
              << ncclGetLastError(comm);
          gpus.await(stream);
          for (std::size_t i = 0; i < count; ++i) {
            float expected = op == ncclProd ? 1 : op == ncclMin ? 9 : 0;
            for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
              const auto value = static_cast<float>((i + r) % 3 + 1);
              expected = op == ncclProd  ? expected * value
                         : op == ncclMax ? std::max(expected, value)
                         : op == ncclMin ? std::min(expected, value)
                                         : expected + value;
            }
            ASSERT_EQ(out[i], op == ncclAvg ? expected / static_cast<float>(ranks) : expected)
                << "element " << i << " of " << count << ", operation " << op;
          }
        };
        for (const std::size_t count : {std::size_t{1}, std::size_t{1003}, kMost})
          for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) check(op, count, count == 1003);
        // The network does not do averages: they go through rings.
        check(ncclAvg, 5000, false);
      },
      [&](int rank) { gpus.setDevice(rank); });
  expectAllJoined(results);
  EXPECT_GE(plugins::testCollReduced(kVersion) - before, 3 * 4 * hosts);
  EXPECT_EQ(plugins::testNetLiving(kVersion), 0);
}

INSTANTIATE_TEST_SUITE_P(Jobs, GpuChains, ::testing::Values(ChainJob{2, 1}, ChainJob{2, 2}, ChainJob{3, 2}),
                         [](const auto& job) {
                           return std::to_string(job.param.hosts) + "x" + std::to_string(job.param.perHost);
                         });

// On GPUs there are no stars: the direct pattern gives way to rings.
TEST(GpuStars, AreRings) {
  const Environment environment(variablesOfChains("AllReduce:CollnetDirect"));
  const long before = plugins::testCollReduced(kVersion);
  MappedGpus gpus;
  const auto results = runOnHosts(
      2, 2,
      [&](int rank, ncclComm_t comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        auto* const values = static_cast<float*>(gpus.allocate(64 * sizeof(float)));
        std::fill_n(values, 64, static_cast<float>(rank));
        ASSERT_EQ(ncclAllReduce(values, values, 64, ncclFloat, ncclSum, comm, stream), ncclSuccess)
            << ncclGetLastError(comm);
        gpus.await(stream);
        EXPECT_EQ(std::count(values, values + 64, 6.0f), 64);
      },
      [&](int rank) { gpus.setDevice(rank); });
  expectAllJoined(results);
  EXPECT_EQ(plugins::testCollReduced(kVersion), before);
}

TEST(GpuStars, OfASwitchAreRefused) {
  const Environment environment(variablesOf("AllReduce:NVLS", "Simple"));
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  auto* const data = reinterpret_cast<float*>(ranks.memory(0, 64));
  EXPECT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0)),
            ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(ranks.comm(0)), HasSubstr("NVLS"));
}

// The network breaks at its third reduction: kernels end, and the error names it.
TEST(GpuChainFailures, EndKernels) {
  auto variables = variablesOfChains("AllReduce:CollnetChain");
  variables["TEST_COLL_BREAK_AFTER"] = "3";
  const Environment environment(variables);
  MappedGpus gpus;
  const auto results = runOnHosts(
      2, 1,
      [&](int, ncclComm_t& comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        auto* const values = static_cast<float*>(gpus.allocate(kMost * sizeof(float)));
        ncclAllReduce(values, values, kMost, ncclFloat, ncclSum, comm, stream);  // many of the network's
        gpus.await(stream);
        EXPECT_NE(asyncErrorOf(comm), ncclSuccess);
        EXPECT_THAT(ncclGetLastError(comm), HasSubstr("collnet plugin Test"));
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        comm = nullptr;
      },
      [&](int rank) { gpus.setDevice(rank); });
  expectAllJoined(results);
}

}  // namespace
}  // namespace xylem::testing
