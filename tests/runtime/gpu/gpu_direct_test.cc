// Networks that read and write memory of GPUs (GPU Direct RDMA): where the slots of queues lie, how the network gets to know them, and
// that a kernel sees what has arrived only once it was flushed.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "core/temporary_directory.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"
#include "runtime/gpu/network_slots.h"
#include "runtime/plugins/test_net.h"

namespace xylem::testing {
namespace {

using plugins::TestNetCounts;
using plugins::testNetCounts;
using ::testing::HasSubstr;

constexpr int kRanks = 2;

// An A100 orders nothing that a network card has written before what the host writes later; an H100 does.
const MappedGpus::Options kA100s{.busIds = {"0000:07:00.0", "0000:90:00.0"}};
const MappedGpus::Options kH100s{.busIds = {"0000:1b:00.0", "0000:43:00.0"}};

std::map<std::string, std::string> variablesFor(int version, const char* topology) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple,LL,LL128", true);
  variables["NCCL_TOPO_FILE"] = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + topology;
  variables["NCCL_NET_PLUGIN"] = plugins::testNetFile(version);
  variables["TEST_NET_POINTERS"] = "3";
  return variables;
}

// Collectives and messages of several lengths, from nothing to more than a queue holds. Returns what the plugin saw of GPUs' memory.
TestNetCounts countsOfAJob(int version, const MappedGpus::Options& options) {
  const TestNetCounts before = testNetCounts(version);
  {
    MappedGpus gpus(options);
    Ranks ranks(&gpus, kRanks);
    constexpr std::size_t kMost = 40000;
    std::vector<std::int32_t*> out, in;
    for (int rank = 0; rank < kRanks; ++rank) {
      out.push_back(reinterpret_cast<std::int32_t*>(ranks.memory(rank, kMost * 4)));
      in.push_back(reinterpret_cast<std::int32_t*>(ranks.memory(rank, kMost * 4)));
    }
    const auto both = [&](auto&& call) {
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      for (int rank = 0; rank < kRanks; ++rank)
        EXPECT_EQ(call(rank, static_cast<std::size_t>(rank)), ncclSuccess) << ncclGetLastError(nullptr);
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      ranks.await();
    };
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{700}, kMost}) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::iota(out[r], out[r] + count, rank * 1000000);
        std::fill_n(in[r], kMost, -1);
      }
      both([&](int rank, std::size_t r) {
        return ncclAllReduce(out[r], in[r], count, ncclInt32, ncclSum, ranks.comm(rank), ranks.stream(rank));
      });
      for (const std::int32_t* const sums : in)
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_EQ(sums[i], 1000000 + 2 * static_cast<std::int32_t>(i)) << i << " of " << count;
      both([&](int rank, std::size_t r) {
        const ncclResult_t sent =
            ncclSend(out[r], count, ncclInt32, 1 - rank, ranks.comm(rank), ranks.stream(rank));
        return sent != ncclSuccess
                   ? sent
                   : ncclRecv(in[r], count, ncclInt32, 1 - rank, ranks.comm(rank), ranks.stream(rank));
      });
      for (std::size_t r = 0; r < in.size(); ++r)
        EXPECT_TRUE(std::equal(in[r], in[r] + count, out[1 - r])) << count << " elements";
    }
  }
  EXPECT_EQ(plugins::testNetLiving(version), 0);
  const TestNetCounts after = testNetCounts(version);
  return {after.gpuMemory - before.gpuMemory, after.dmaBufs - before.dmaBufs, after.flushes - before.flushes};
}

class GpuDirect : public ::testing::TestWithParam<int> {};

// The plugin holds what has arrived back until it is flushed.
TEST_P(GpuDirect, FlushesWhatOlderGpusDoNotOrder) {
  auto variables = variablesFor(GetParam(), "dgxa100-2gpu.xml");
  variables["TEST_NET_HOLDS"] = "1";
  variables["TEST_NET_SLOW"] = "3";
  const Environment environment(variables);
  const TestNetCounts counts = countsOfAJob(GetParam(), kA100s);
  EXPECT_GT(counts.gpuMemory, 0);
  EXPECT_EQ(counts.dmaBufs, 0);
  EXPECT_GT(counts.flushes, 0);
}

TEST_P(GpuDirect, TakesDmaBufsWhereTheNetworkDoes) {
  auto variables = variablesFor(GetParam(), "dgxa100-2gpu.xml");
  variables["TEST_NET_POINTERS"] = "7";
  const Environment environment(variables);
  const TestNetCounts counts = countsOfAJob(GetParam(), kA100s);
  EXPECT_EQ(counts.gpuMemory, 0);
  EXPECT_GT(counts.dmaBufs, 0);
}

INSTANTIATE_TEST_SUITE_P(Plugins, GpuDirect, ::testing::Values(6, 9, 12));

TEST(GpuDirectRdma, FlushesNothingThatTheGpuOrders) {
  auto variables = variablesFor(9, "dgxh100-4gpu.xml");
  {
    const Environment environment(variables);
    const TestNetCounts counts = countsOfAJob(9, kH100s);
    EXPECT_GT(counts.gpuMemory, 0);
    EXPECT_EQ(counts.flushes, 0);
  }
  // Unless the network's device asks for it, or the user.
  for (const char* const asks : {"TEST_NET_FORCE_FLUSH", "NCCL_NET_FORCE_FLUSH"}) {
    auto asked = variables;
    asked[asks] = asked["TEST_NET_HOLDS"] = "1";
    const Environment environment(asked);
    EXPECT_GT(countsOfAJob(9, kH100s).flushes, 0) << asks;
  }
}

TEST(GpuDirectRdma, IsByAddressWhereTheDriverMakesNoDmaBuf) {
  auto variables = variablesFor(9, "dgxa100-2gpu.xml");
  variables["TEST_NET_POINTERS"] = "7";
  const Environment environment(variables);
  MappedGpus::Options failing = kA100s;
  failing.failsToExport = true;
  const TestNetCounts counts = countsOfAJob(9, failing);
  EXPECT_GT(counts.gpuMemory, 0);
  EXPECT_EQ(counts.dmaBufs, 0);
}

TEST(GpuDirectRdma, LogsThatTheDriverMakesNoDmaBuf) {
  const TemporaryDirectory folder;
  const Settings settings = Settings::fromPairs(
      {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "NET"}, {"NCCL_DEBUG_FILE", folder / "log"}});
  MappedGpus::Options failing;
  failing.failsToExport = true;
  const MappedGpus gpus(failing);
  const gpu::GpuContext gpu(*gpu::driverOfThread(settings), 3, 1, settings);
  gpu::NetworkSlots slots(gpu, settings, std::make_shared<const Logger>(settings));
  const std::shared_ptr<std::byte> memory = slots.allocate(1000);
  EXPECT_FALSE(slots.dmaBufOf(memory.get(), 1000));
  std::ostringstream text;
  text << std::ifstream(folder / "log").rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("rank 3, GPU 1: the driver makes no DMA-BUF of 65536 bytes"));
}

// The plan may have it for one direction.
TEST(GpuDirectRdma, IsOneWayWhereThePlanSaysSo) {
  auto variables = variablesFor(9, "dgxa100-2gpu.xml");
  long both = 0;
  {
    const Environment environment(variables);
    both = countsOfAJob(9, kA100s).gpuMemory;
  }
  variables["NCCL_NET_GDR_READ"] = "0";
  variables["TEST_NET_HOLDS"] = "1";
  const Environment environment(variables);
  const TestNetCounts counts = countsOfAJob(9, kA100s);
  EXPECT_EQ(2 * counts.gpuMemory, both) << "the receives alone";
  EXPECT_GT(counts.flushes, 0);
}

TEST(GpuDirectRdma, LeavesSlotsInMemoryOfTheHost) {
  // The network reaches no memory of GPUs; it takes only DMA-BUFs, and there are none, or they are forbidden; the card is too far.
  const std::map<std::string, std::string> cases[] = {
      {{"TEST_NET_POINTERS", "1"}},
      {{"TEST_NET_POINTERS", "5"}, {"NCCL_DMABUF_ENABLE", "0"}},
      {{"NCCL_NET_GDR_LEVEL", "LOC"}},
  };
  for (const auto& one : cases) {
    auto variables = variablesFor(9, "dgxa100-2gpu.xml");
    for (const auto& [name, value] : one) variables[name] = value;
    const Environment environment(variables);
    const TestNetCounts counts = countsOfAJob(9, kA100s);
    EXPECT_EQ(counts.gpuMemory + counts.dmaBufs + counts.flushes, 0) << one.begin()->first;
  }
  {
    // A network that cannot flush. Its table is made when the library is loaded, here first.
    auto variables = variablesFor(8, "dgxa100-2gpu.xml");
    variables["TEST_NET_NO_FLUSH"] = "1";
    const Environment environment(variables);
    const TestNetCounts counts = countsOfAJob(8, kA100s);
    EXPECT_GT(counts.gpuMemory, 0) << "of sends";
    EXPECT_EQ(counts.flushes, 0);
  }
  auto variables = variablesFor(9, "dgxa100-2gpu.xml");
  variables["TEST_NET_POINTERS"] = "5";
  const Environment environment(variables);
  MappedGpus::Options without = kA100s;
  without.exportsDmaBuf = false;
  EXPECT_EQ(countsOfAJob(9, without).dmaBufs, 0);
}

}  // namespace
}  // namespace xylem::testing
