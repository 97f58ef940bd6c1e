// Ranks on GPUs that send through the network device of another rank of their host (PXN): its proxy thread sends, and the slots are in
// the memory of its GPU, if the sender's reaches that.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "core/temporary_directory.h"
#include "runtime/comm/host_threads.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"
#include "runtime/plugins/test_net.h"

namespace xylem::testing::proxies {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kVersion = 9;
constexpr int kHosts = 2, kPerHost = 2, kRanks = kHosts * kPerHost;
// Each host has a network device beside each GPU.
const std::vector<std::string> kBusIds{"0000:1b:00.0", "0000:43:00.0", "0000:1b:00.0", "0000:43:00.0"};

std::map<std::string, std::string> variables() {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["NCCL_TOPO_FILE"] = std::string(XYLEM_SOURCE_DIR) + "/topologies/dgxh100-4gpu.xml";
  variables["NCCL_NET_PLUGIN"] = plugins::testNetFile(kVersion);
  variables["TEST_NET_POINTERS"] = "3";
  variables["TEST_NET_DEVICES"] = "4";
  variables["NCCL_DEBUG"] = "INFO";
  variables["NCCL_DEBUG_SUBSYS"] = "ALL";
  return variables;
}

std::string textOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// All ranks send to all, and add up; more than queues hold.
void exchange(MappedGpus& gpus, int rank, ncclComm_t comm) {
  constexpr std::size_t kMost = 20000;
  void* const stream = gpus.makeStream();
  const auto queue = static_cast<cudaStream_t>(stream);
  const auto memory = [&] { return static_cast<std::int32_t*>(gpus.allocate(kRanks * kMost * 4)); };
  std::int32_t *const out = memory(), *const in = memory();
  for (const std::size_t count : {std::size_t{1}, std::size_t{700}, kMost}) {
    std::iota(out, out + kRanks * count, rank * 1000000);
    std::fill_n(in, kRanks * count, -1);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t peer = 0; peer < kRanks; ++peer) {
      EXPECT_EQ(ncclSend(out + peer * count, count, ncclInt32, static_cast<int>(peer), comm, queue),
                ncclSuccess);
      EXPECT_EQ(ncclRecv(in + peer * count, count, ncclInt32, static_cast<int>(peer), comm, queue),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    gpus.await(stream);
    for (std::size_t peer = 0; peer < kRanks; ++peer)
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(in[peer * count + i],
                  static_cast<std::int32_t>(peer * 1000000 + static_cast<std::size_t>(rank) * count + i))
            << "from rank " << peer << ", element " << i << " of " << count;
    ASSERT_EQ(ncclAllReduce(out, in, count, ncclInt32, ncclSum, comm, queue), ncclSuccess)
        << ncclGetLastError(comm);
    gpus.await(stream);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(in[i], 6000000 + kRanks * static_cast<std::int32_t>(i)) << i << " of " << count;
  }
}

// A job of threads, in a process of its own, as a process has one log.
const RankRole kThreads("gpu hosts of threads", [](int, int, const ncclUniqueId&) {
  {
    MappedGpus gpus({.busIds = kBusIds, .reachPeers = variable("XYLEM_TEST_REACH") != "0"});
    const auto results = runOnHosts(
        kHosts, kPerHost, [&](int rank, ncclComm_t comm) { exchange(gpus, rank, comm); },
        [&](int rank) { gpus.setDevice(rank); });
    expectAllJoined(results);
    EXPECT_EQ(gpus.allocated(), 0u) << "pieces of memory that the library keeps";
  }
  EXPECT_EQ(plugins::testNetLiving(kVersion), 0);
  return ::testing::Test::HasFailure() ? 4 : 0;
});

std::string logOfAJob(const std::map<std::string, std::string>& set = {}) {
  const TemporaryDirectory folder;
  std::map<std::string, std::string> all = variables();
  for (const auto& [name, value] : set) all[name] = value;
  all["NCCL_DEBUG_FILE"] = folder / "log";
  const Environment environment(all);
  EXPECT_EQ(RankProcess("gpu hosts of threads", 0, 1, {}).waitAtMost(60), 0);
  return textOf(folder / "log");
}

TEST(GpuProxies, SendFromTheirOwnMemory) {
  const std::string log = logOfAJob();
  EXPECT_THAT(log, HasSubstr("0[0] -> 3[1] [send] via NET/Test09/1(1)/GDRDMA"));
  EXPECT_THAT(log, HasSubstr("0[0] -> 2[0] [send] via NET/Test09/0/GDRDMA"));
  EXPECT_THAT(log, Not(HasSubstr("does not reach")));
}

TEST(GpuProxies, MeasureNothingAboutCopiesInTheHost) {
  EXPECT_THAT(logOfAJob({{"XYLEM_COPY_CHOICES", "measured"}}),
              HasSubstr("the default: the ranks of this host are on GPUs"));
}

TEST(GpuProxies, SendFromMemoryOfTheHostIfTheSenderDoesNotReachTheirs) {
  const std::string log = logOfAJob({{"XYLEM_TEST_REACH", "0"}});
  EXPECT_THAT(log, HasSubstr("rank 0, GPU 0: does not reach the memory of the GPU beside the network device "
                             "(GPU 1 of its process)"));
}

TEST(GpuProxies, SendFromMemoryOfTheHostIfTheNetworkTakesNoOther) {
  const std::string log = logOfAJob({{"TEST_NET_POINTERS", "1"}});
  EXPECT_THAT(log, HasSubstr("via NET/Test09/1(1)"));
  EXPECT_THAT(log, Not(HasSubstr("/GDRDMA")));
}

TEST(GpuProxies, AreNotUsedIfThePlanHasNone) {
  EXPECT_THAT(logOfAJob({{"NCCL_PXN_DISABLE", "1"}}), Not(HasSubstr("Test09/1(1)")));
}

// The ranks of a host are two processes.
const RankRole kGpuRank("gpu rank of a host", [](int rank, int ranks, const ncclUniqueId& id) {
  auto set = variables();
  set["NCCL_HOSTID"] = "host-" + std::to_string(rank / kPerHost);
  set["NCCL_DEBUG_FILE"] = variable("XYLEM_TEST_LOG") + "." + std::to_string(rank);
  const Environment environment(set);
  // It lives until the process exits, which waits for those who still send through this rank.
  static MappedGpus& gpus = *new MappedGpus({.busIds = kBusIds});
  gpus.setDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 2;
  exchange(gpus, rank, comm);
  EXPECT_GT(gpus.imported(), 0u);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return ::testing::Test::HasFailure() ? 4 : 0;
});

TEST(GpuProxies, SendForOtherProcesses) {
  const TemporaryDirectory folder;
  setenv("XYLEM_TEST_LOG", (folder / "log").c_str(), 1);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::unique_ptr<RankProcess>> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.push_back(std::make_unique<RankProcess>("gpu rank of a host", rank, kRanks, id));
  for (const auto& rank : ranks) EXPECT_EQ(rank->waitAtMost(60), 0);
  unsetenv("XYLEM_TEST_LOG");
  EXPECT_THAT(textOf(folder / "log.0"), HasSubstr("0[0] -> 3[1] [send] via NET/Test09/1(1)/GDRDMA"));
}

}  // namespace
}  // namespace xylem::testing::proxies
