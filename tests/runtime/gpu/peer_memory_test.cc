// GPUs that move data into each other's memory, in one process and in several.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/settings.h"
#include "core/temporary_directory.h"
#include "nccl.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/gpu/gpu_context.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"
#include "runtime/gpu/shared_memory.h"

namespace xylem::testing {
namespace {

using ::testing::HasSubstr;

// With limits of descriptors as they are by default, hundreds of pieces would use them up. Each has a file here, which is its memory.
TEST(SharedGpuMemory, OpensFilesWhenOtherProcessesAsk) {
  MappedGpus gpus;
  const Settings settings = Settings::fromPairs({{"NCCL_CUMEM_ENABLE", "1"}, {"XYLEM_DEVICE", "gpu"}});
  const gpu::GpuContext context(*gpu::driverOfThread(settings), 0, 1, settings);
  const auto make = [&] {
    return gpu::SharedGpuMemory::make(context, 4096, "a test", gpu::Sharers::kProcesses);
  };
  const auto openDescriptors = [] {
    using Files = std::filesystem::directory_iterator;
    return std::distance(Files("/proc/self/fd"), Files());
  };
  std::shared_ptr<gpu::SharedGpuMemory> first = make();  // with it the thread that answers
  const auto before = openDescriptors();
  std::vector<std::shared_ptr<gpu::SharedGpuMemory>> others;
  for (int i = 0; i < 10; ++i) others.push_back(make());
  EXPECT_EQ(openDescriptors(), before + 10);

  ASSERT_TRUE(first->name());
  ASSERT_EQ(first->name()->by, gpu::MemoryName::By::kFile);
  first->data()[4095] = std::byte{42};
  void* const stream = gpus.makeStream();
  gpus.beginCapture(stream);  // the thread that answers must not spoil it
  const gpu::NamedMemory same = gpu::memoryByName(context, *first->name());
  gpus.endCapture(stream);
  ASSERT_NE(same.memory, nullptr) << same.why;
  EXPECT_EQ(same.memory.get()[4095], std::byte{42});
  const gpu::MemoryName name = *first->name();
  first.reset();
  EXPECT_EQ(gpu::memoryByName(context, name).why, "the other process gives no such file");
}

// How many more pieces of memory there are after two ranks have exchanged messages of three sizes.
std::size_t allocatedByExchanges(const MappedGpus::Options& options) {
  MappedGpus gpus(options);
  Ranks ranks(&gpus, 2);
  constexpr std::size_t kMost = 50000;
  std::array<std::int32_t*, 2> out{}, in{};
  for (int rank = 0; rank < 2; ++rank) {
    out[static_cast<std::size_t>(rank)] = reinterpret_cast<std::int32_t*>(ranks.memory(rank, kMost * 4));
    in[static_cast<std::size_t>(rank)] = reinterpret_cast<std::int32_t*>(ranks.memory(rank, kMost * 4));
  }
  const std::size_t before = gpus.allocatedOnGpus();
  for (const std::size_t count : {std::size_t{1}, std::size_t{700}, kMost}) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < 2; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::iota(out[r], out[r] + count, rank * 1000000);
      EXPECT_EQ(ncclSend(out[r], count, ncclInt32, 1 - rank, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
      EXPECT_EQ(ncclRecv(in[r], count, ncclInt32, 1 - rank, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    ranks.await();
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_TRUE(std::equal(in[rank], in[rank] + count, out[1 - rank])) << count;
  }
  return gpus.allocatedOnGpus() - before;
}

TEST(GpuTransfers, MoveIntoTheMemoryOfTheGpuThatReads) {
  for (const char* const protocol : {"Simple", "LL", "LL128"}) {
    const Environment environment(variablesOf("Ring", protocol));
    EXPECT_GT(allocatedByExchanges({.reachPeers = true}), allocatedByExchanges({.reachPeers = false}))
        << protocol;
  }
}

// How many works refer to buffers, and how many offer theirs, when two ranks add up 30000 floats in memory that others reach, or in
// that of a pool.
struct InBuffers {
  int referring, offering;
};
InBuffers inBuffersOf(const MappedGpus::Options& options, bool pool) {
  MappedGpus gpus(options);
  Ranks ranks(&gpus, 2);
  constexpr std::size_t kCount = 30000;
  std::vector<float*> data;
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    gpus.setDevice(rank);
    const std::size_t bytes = kCount * sizeof(float);
    data.push_back(static_cast<float*>(pool ? gpus.allocateFromPool(bytes) : gpus.allocate(bytes)));
    std::fill_n(data.back(), kCount, rank + 1.0f);
    EXPECT_EQ(ncclAllReduce(data.back(), data.back(), kCount, ncclFloat, ncclSum, ranks.comm(rank),
                            ranks.stream(rank)),
              ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  ranks.await();
  for (const float* const values : data)
    EXPECT_EQ(std::count(values, values + kCount, 3.0f), static_cast<std::ptrdiff_t>(kCount));
  return {gpus.referring(), gpus.offering()};
}

void expectInBuffers(const InBuffers& found, bool refers, bool offers) {
  EXPECT_EQ(found.referring >= 2, refers) << found.referring;
  EXPECT_EQ(found.offering >= 2, offers) << found.offering;
}

TEST(GpuBuffers, AreReadAndWrittenByPeersThatShareTheGpu) {
  const Environment environment(variablesOf("Ring", "Simple"));
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  expectInBuffers(inBuffersOf({.areOne = true}, false), true, true);
  expectInBuffers(inBuffersOf({.areOne = true}, true), true, true);
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", 1);
  expectInBuffers(inBuffersOf({.areOne = true}, false), false, false);
}

// The plan has GPUs of that generation read over NVLink, and others write.
TEST(GpuBuffers, AreReadOrWrittenByOtherGpusAsThePlanHasIt) {
  const Environment environment(variablesOf("Ring", "Simple"));
  const MappedGpus::Options readers{.busIds = {"0000:07:00.0", "0000:0f:00.0"}};
  setenv("NCCL_TOPO_FILE", XYLEM_SOURCE_DIR "/topologies/dgxa100.xml", 1);
  expectInBuffers(inBuffersOf(readers, false), true, false);
  expectInBuffers(inBuffersOf(readers, true), false, false);
  const MappedGpus::Options apart{.busIds = readers.busIds, .reachPeers = false};
  expectInBuffers(inBuffersOf(apart, false), false, false);
  unsetenv("NCCL_TOPO_FILE");
  expectInBuffers(inBuffersOf({}, false), false, true);
  expectInBuffers(inBuffersOf({}, true), false, false);
}

// How many works have their data in lines of LL128 when four GPUs that NVLinks connect add up 2 MiB.
int linesOfASum(const char* protocols, bool reachPeers) {
  constexpr int kRanks = 4;
  constexpr std::size_t kCount = std::size_t{512} << 10;
  std::map<std::string, std::string> variables = variablesOf("Ring", protocols);
  variables.erase("NCCL_MAX_CTAS");
  variables["NCCL_TOPO_FILE"] = XYLEM_SOURCE_DIR "/topologies/v100x4-1nic.xml";
  const Environment environment(variables);
  MappedGpus gpus(
      {.busIds = {"0000:18:00.0", "0000:3b:00.0", "0000:86:00.0", "0000:af:00.0"}, .reachPeers = reachPeers});
  Ranks ranks(&gpus, kRanks);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    std::byte* const data = ranks.memory(rank, kCount * sizeof(float));
    EXPECT_EQ(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
              ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  ranks.await();
  return gpus.inLines();
}

// Lines could arrive in parts there.
TEST(GpuTransfers, DoWithoutLl128ThroughMemoryOfTheHostUnlessAsked) {
  EXPECT_GT(linesOfASum("", true), 0);
  EXPECT_EQ(linesOfASum("", false), 0);
  EXPECT_GT(linesOfASum("LL128", false), 0);
}

// The ranks are processes with a GPU each, which map each other's memory.
const RankRole kGpuRank("gpu", [](int rank, int ranks, const ncclUniqueId& id) {
  const std::string files = variable("XYLEM_TEST_FILES");
  MappedGpus gpus({.givesFiles = files != "none", .failsToOpenFiles = files == "closed"});
  gpus.setDevice(rank);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  if (comm == nullptr) return 1;
  // With two ranks the ring's queues to the next rank and to the previous one are to the same.
  EXPECT_GE(gpus.imported(), 1u);
  const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
  constexpr std::size_t kCount = 20000;
  auto* const values = static_cast<float*>(gpus.allocate(kCount * sizeof(float)));
  for (const char* const turn : {"first", "second"}) {
    std::fill_n(values, kCount, static_cast<float>(rank + 1));
    EXPECT_EQ(ncclAllReduce(values, values, kCount, ncclFloat, ncclSum, comm, stream), ncclSuccess)
        << ncclGetLastError(nullptr);
    gpus.await(stream);
    EXPECT_EQ(std::count(values, values + kCount, static_cast<float>(ranks * (ranks + 1) / 2)),
              static_cast<std::ptrdiff_t>(kCount))
        << turn;
  }
  // To the next rank, and from the previous one.
  const std::size_t imported = gpus.imported();
  auto* const from = static_cast<float*>(gpus.allocate(kCount * sizeof(float)));
  std::fill_n(values, kCount, static_cast<float>(rank));
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(values, kCount, ncclFloat, next, comm, stream), ncclSuccess);
  EXPECT_EQ(ncclRecv(from, kCount, ncclFloat, previous, comm, stream), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  gpus.await(stream);
  EXPECT_EQ(std::count(from, from + kCount, static_cast<float>(previous)),
            static_cast<std::ptrdiff_t>(kCount));
  EXPECT_GT(gpus.imported(), imported);
  EXPECT_EQ(gpus.importedFiles(), files == "given" ? static_cast<int>(gpus.imported()) : 0);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(gpus.allocated(), 0u);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

// One of them may not use the other's memory, or both cannot.
const RankRole kApart("gpu apart", [](int rank, int ranks, const ncclUniqueId& id) {
  const bool forbids = variable("XYLEM_TEST_FILES").empty();
  MappedGpus gpus({.failsToMapFiles = !forbids});
  gpus.setDevice(rank);
  if (forbids && rank == 1) setenv("NCCL_P2P_DISABLE", "1", 1);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  if (comm == nullptr) return 1;
  const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
  auto* const values = static_cast<float*>(gpus.allocate(2 * sizeof(float)));
  values[0] = static_cast<float>(rank);
  const int peer = (rank + ranks / 2) % ranks;  // of four, no neighbour
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(values, 1, ncclFloat, peer, comm, stream), ncclSuccess);
    EXPECT_EQ(ncclRecv(values + 1, 1, ncclFloat, peer, comm, stream), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    gpus.await(stream);
    EXPECT_EQ(values[1], static_cast<float>(peer));
  }
  EXPECT_EQ(gpus.imported(), 0u);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

TEST(RankProcess, Role) {
  if (const RankBody body = RankRole::find(roleOfThisProcess())) {
    EXPECT_EQ(body(std::stoi(variable("XYLEM_TEST_RANK")), std::stoi(variable("XYLEM_TEST_RANKS")),
                   idOf(variable("XYLEM_TEST_ID"))),
              0);
  }
}

void runProcesses(int ranks, const char* role) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::unique_ptr<RankProcess>> processes;
  for (int rank = 0; rank < ranks; ++rank)
    processes.push_back(std::make_unique<RankProcess>(role, rank, ranks, id));
  for (const auto& process : processes) EXPECT_EQ(process->waitAtMost(60), 0);
}

TEST(GpuProcesses, MapEachOthersMemory) {
  for (const char* const protocol : {"Simple", "LL", "LL128"}) {
    SCOPED_TRACE(protocol);
    auto variables = variablesOf("Ring,Tree", protocol);
    variables["XYLEM_DEVICE"] = "auto";
    variables["XYLEM_TEST_FILES"] = "given";
    variables["NCCL_CUMEM_ENABLE"] = "1";
    const Environment environment(variables);
    runProcesses(3, "gpu");
  }
}

// The driver makes none, makes some that it does not open, or is not asked for them.
TEST(GpuProcesses, ShareMemoryByIpcWhereThereAreNoFiles) {
  auto variables = variablesOf("Ring,Tree", "Simple");
  variables["XYLEM_DEVICE"] = "auto";
  variables["NCCL_CUMEM_ENABLE"] = "1";
  for (const char* const files : {"none", "closed", "not asked for"}) {
    SCOPED_TRACE(files);
    variables["XYLEM_TEST_FILES"] = files;
    if (files == std::string("not asked for")) variables.erase("NCCL_CUMEM_ENABLE");
    const Environment environment(variables);
    runProcesses(2, "gpu");
  }
}

std::string warningsOfProcessesApart(const std::string& files, int ranks = 2) {
  const TemporaryDirectory folder;
  auto variables = variablesOf("Ring", "Simple");
  variables["XYLEM_DEVICE"] = "auto";
  variables["XYLEM_TEST_FILES"] = files;
  variables["NCCL_CUMEM_ENABLE"] = "1";
  variables["NCCL_DEBUG"] = "WARN";
  variables["NCCL_DEBUG_FILE"] = folder / "log.%p";
  const Environment environment(variables);
  runProcesses(ranks, "gpu apart");
  std::ostringstream logs;
  for (const auto& log : std::filesystem::directory_iterator(folder / ""))
    logs << std::ifstream(log.path()).rdbuf();
  return logs.str();
}

TEST(GpuProcesses, DoWithoutEachOthersMemoryIfOneForbidsIt) {
  EXPECT_THAT(warningsOfProcessesApart(""),
              HasSubstr("rank 0, GPU 0: it cannot exchange memory with the GPUs of ranks 1"));
}

TEST(GpuProcesses, SayWhyTheyCannotMapAFile) {
  EXPECT_THAT(
      warningsOfProcessesApart("unmapped"),
      HasSubstr(
          "rank 1, GPU 1: it cannot exchange memory with the GPUs of ranks 0 (mapping it: invalid value; "
          "NCCL_CUMEM_ENABLE=0 shares memory by CUDA IPC instead)"));
}

// Neighbours find out when they join, the others when they send.
TEST(GpuProcesses, WarnOfAPeerOnce) {
  const std::string logs = warningsOfProcessesApart("unmapped", 4);
  const auto found = [&logs](const std::string& text) {
    std::size_t times = 0;
    for (std::size_t at = logs.find(text); at != logs.npos; at = logs.find(text, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(found("rank 2, GPU 2: it cannot exchange memory with the GPUs of ranks 0 (mapping it"), 1u)
      << logs;
  EXPECT_EQ(found("rank 2, GPU 2: it cannot exchange memory with the GPUs of ranks"), 2u) << logs;
}

}  // namespace
}  // namespace xylem::testing
