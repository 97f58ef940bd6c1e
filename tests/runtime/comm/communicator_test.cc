// Communicators through nccl.h, with ranks as threads and as processes, and with ranks that die.

#include <gmock/gmock.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "core/temporary_directory.h"
#include "nccl.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"
#include "support/shared_memory_files.h"

namespace xylem::comm {
namespace {

using ::testing::HasSubstr;
using testing::RankProcess;
using testing::RankResult;
using testing::runRanks;
using testing::Variables;

void checkSum(int rank, int ranks, ncclComm_t comm, cudaStream_t stream, std::size_t count) {
  std::vector<std::int64_t> send(count), receive(count, -1);
  for (std::size_t i = 0; i < count; ++i) send[i] = static_cast<std::int64_t>(i) * (rank + 1);
  ASSERT_EQ(ncclAllReduce(send.data(), receive.data(), count, ncclInt64, ncclSum, comm, stream), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << ncclGetLastError(comm);
  const std::int64_t factor = std::int64_t{ranks} * (ranks + 1) / 2;
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(receive[i], static_cast<std::int64_t>(i) * factor) << i;
}

class CommunicatorOf : public ::testing::TestWithParam<int> {};

TEST_P(CommunicatorOf, SumsOverAllRanksOnAnyStream) {
  const int ranks = GetParam();
  const Variables variables{};
  const auto results = runRanks(ranks, [ranks](int rank, ncclComm_t comm) {
    int value = -1;
    EXPECT_EQ(ncclCommCount(comm, &value), ncclSuccess);
    EXPECT_EQ(value, ranks);
    EXPECT_EQ(ncclCommUserRank(comm, &value), ncclSuccess);
    EXPECT_EQ(value, rank);
    EXPECT_EQ(ncclCommCuDevice(comm, &value), ncclSuccess);
    EXPECT_EQ(value, rank);
    for (const std::size_t count : {0u, 1u, 2u, 1001u, 300'000u}) checkSum(rank, ranks, comm, nullptr, count);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    checkSum(rank, ranks, comm, stream, 1000);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    ncclResult_t async = ncclInProgress;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &async), ncclSuccess);
    EXPECT_EQ(async, ncclSuccess);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.init, ncclSuccess) << result.text;
}

INSTANTIATE_TEST_SUITE_P(Ranks, CommunicatorOf, ::testing::Values(1, 2, 3, 4));

TEST(Communicator, SeveralChannelsGiveTheSameSums) {
  const Variables variables{{"NCCL_MIN_NCHANNELS", "4"}};
  const auto results =
      runRanks(3, [](int rank, ncclComm_t comm) { checkSum(rank, 3, comm, nullptr, 500'001); });
  for (const RankResult& result : results) EXPECT_EQ(result.init, ncclSuccess) << result.text;
}

TEST(Communicator, ATinyBufferIsEnough) {
  const Variables variables{{"NCCL_BUFFSIZE", "64"}};
  const auto results = runRanks(2, [](int rank, ncclComm_t comm) { checkSum(rank, 2, comm, nullptr, 5000); });
  for (const RankResult& result : results) EXPECT_EQ(result.init, ncclSuccess) << result.text;
}

// Three ranks in the order 0 2 1, which no search finds on its own.
TEST(Communicator, AGraphFileSaysTheOrderOfTheRing) {
  constexpr const char* kRing =
      R"(<graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="1" speedinter="1" latencyinter="0" typeintra="SYS" typeinter="SYS" samechannels="1">
    <channel>
      <gpu dev="0"/>
      <gpu dev="0x2"/>
      <gpu dev="0x1"/>
    </channel>
  </graph>)";
  const TemporaryDirectory folder;
  const std::string given = (folder / "given.xml").string(), dumped = (folder / "dumped.xml").string();
  std::ofstream(given) << "<graphs version=\"1\">" << kRing << "</graphs>";
  const Variables variables{{"NCCL_GRAPH_FILE", given},
                            {"NCCL_GRAPH_DUMP_FILE", dumped},
                            {"NCCL_GRAPH_DUMP_FILE_RANK", "2"},
                            // Newer versions write the ranks, too.
                            {"XYLEM_NCCL", "2.25.1"}};
  const auto results = runRanks(3, [](int rank, ncclComm_t comm) { checkSum(rank, 3, comm, nullptr, 5000); });
  for (const RankResult& result : results) EXPECT_EQ(result.init, ncclSuccess) << result.text;
  std::ostringstream text;
  text << std::ifstream(dumped).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(kRing));
}

TEST(Communicator, AGraphFileThatCannotBeReadStopsAllRanks) {
  const TemporaryDirectory folder;
  const std::string file = (folder / "graphs.xml").string();
  std::ofstream(file) << "<graphs version=\"2\"/>";
  const Variables variables{{"NCCL_GRAPH_FILE", file}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {
    EXPECT_NE(result.init, ncclSuccess);
    EXPECT_THAT(result.text, HasSubstr("graphs.xml:1: found version=\"2\""));
  }
}

// One thread enqueues for two ranks and waits for the first, so it must advance the second one, too.
TEST(Communicator, OneThreadDrivesTwoRanks) {
  const Variables variables{};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comms[2] = {};
  std::thread other([&] {
    cudaSetDevice(1);
    EXPECT_EQ(ncclCommInitRank(&comms[1], 2, id, 1), ncclSuccess);
  });
  cudaSetDevice(0);
  ASSERT_EQ(ncclCommInitRank(&comms[0], 2, id, 0), ncclSuccess);
  other.join();
  constexpr std::size_t kCount = 2'000'000;  // far more than queues can hold
  std::vector<std::vector<float>> data(2, std::vector<float>(kCount, 1));
  cudaStream_t streams[2];
  for (int i = 0; i < 2; ++i) {
    cudaSetDevice(i);
    ASSERT_EQ(cudaStreamCreate(&streams[i]), cudaSuccess);
    float* buffer = data[static_cast<std::size_t>(i)].data();
    ASSERT_EQ(ncclAllReduce(buffer, buffer, kCount, ncclFloat, ncclSum, comms[i], streams[i]), ncclSuccess);
  }
  for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  for (const auto& buffer : data) EXPECT_EQ(std::count(buffer.begin(), buffer.end(), 2.0f), kCount);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cudaStreamDestroy(streams[i]), cudaSuccess);
    EXPECT_EQ(ncclCommDestroy(comms[i]), ncclSuccess);
  }
  cudaSetDevice(0);
}

TEST(Communicator, OperationsOfOneCommunicatorKeepTheirOrderOnAllStreams) {
  const Variables variables{};
  runRanks(2, [](int rank, ncclComm_t comm) {
    cudaStream_t streams[2];
    for (cudaStream_t& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    std::vector<std::int32_t> a(1000, 1), b(1000, 10);
    for (int i = 0; i < 5; ++i) {
      ncclAllReduce(a.data(), a.data(), a.size(), ncclInt32, ncclSum, comm, streams[0]);
      ncclAllReduce(b.data(), b.data(), b.size(), ncclInt32, ncclSum, comm, streams[1]);
    }
    // The second rank waits in the opposite order.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaStreamSynchronize(streams[(i + rank) % 2]), cudaSuccess);
    EXPECT_EQ(a[999], 32);
    EXPECT_EQ(b[999], 320);
    for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

// Operations finish even if no thread waits for them.
TEST(Communicator, AnEnqueuedAllReduceNeedsNoWaiter) {
  const Variables variables{};
  runRanks(2, [](int, ncclComm_t comm) {
    std::vector<std::int32_t> data(10, 1);
    ASSERT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    while (cudaStreamQuery(nullptr) == cudaErrorNotReady) std::this_thread::yield();
    EXPECT_EQ(data[9], 2);
  });
}

std::size_t entriesIn(const char* folder) {
  std::error_code error;
  std::size_t n = 0;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    ++n;
  return n;
}

TEST(Communicator, AHundredLivesLeaveNothingBehind) {
  const Variables variables{};
  const auto live = [] {
    runRanks(2, [](int rank, ncclComm_t comm) { checkSum(rank, 2, comm, nullptr, 10); });
  };
  live();  // starts everything that stays until the process ends: workers, the logger
  const auto settled = [](const char* folder, std::size_t most) {
    // A root ends a moment after the ranks have joined.
    for (int i = 0; i < 2000 && entriesIn(folder) > most; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return entriesIn(folder);
  };
  settled("/proc/self/task", 3);
  const std::size_t files = entriesIn("/proc/self/fd");
  const std::size_t threads = entriesIn("/proc/self/task");
  const int shared = testing::sharedMemoryFiles();
  for (int i = 0; i < 100; ++i) live();
  // The last root is kept until the next one starts: its listener and its event descriptor.
  EXPECT_LE(settled("/proc/self/fd", files), files);
  EXPECT_LE(settled("/proc/self/task", threads), threads);
  EXPECT_EQ(testing::sharedMemoryFiles(), shared);
}

TEST(Communicator, AMissingRankIsNamed) {
  const Variables variables{{"XYLEM_TIMEOUT", "1"}};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 3, id, 1), ncclRemoteError);
  EXPECT_EQ(comm, nullptr);
  EXPECT_THAT(ncclGetLastError(nullptr),
              HasSubstr("timed out after 1 s waiting for ranks 0, 2 (of 3 ranks)"));
}

TEST(Communicator, ARankThatCannotReadItsTopologyStopsAllOfThem) {
  const Variables variables{{"NCCL_TOPO_FILE", "/nonexistent/machine.xml"}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {}))
    EXPECT_THAT(result.text, HasSubstr("/nonexistent/machine.xml"));
}

TEST(Communicator, TwoRanksOnOneGpuAreNamed) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "two.xml").string();
  std::ofstream(path) << R"(<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" gdr="0"/>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" gdr="0"/>
    </pci>
  </cpu>
</system>
)";
  const Variables variables{{"NCCL_TOPO_FILE", path}, {"XYLEM_HOST_DEVICES", "1"}};
  for (const RankResult& result : runRanks(2, [](int, ncclComm_t) {})) {  // cudaSetDevice(1) fails: both on 0
    EXPECT_EQ(result.init, ncclInvalidUsage);
    EXPECT_THAT(result.text, HasSubstr("rank 0 and rank 1 both use device 0"));
  }
}

// Ranks 1 to n-1 are processes in `role`; this process is rank 0.
struct ProcessJob {
  ProcessJob(const std::string& role, int n) : ranks(n) {
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 1; rank < n; ++rank) others.push_back(std::make_unique<RankProcess>(role, rank, n, id));
  }
  int ranks;
  ncclUniqueId id;
  std::vector<std::unique_ptr<RankProcess>> others;
};

TEST(Communicator, SumsAcrossProcesses) {
  const Variables variables{};
  ProcessJob job("sum", 3);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 3, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  for (const std::size_t count : {1u, 1000u, 400'000u}) checkSum(0, 3, comm, nullptr, count);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  for (auto& other : job.others) EXPECT_EQ(other->wait(), 0);
}

TEST(Communicator, SumsAcrossHosts) {
  const Variables variables{};
  ProcessJob job("otherhost", 3);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 3, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  for (const std::size_t count : {1u, 1000u, 400'000u}) checkSum(0, 3, comm, nullptr, count);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  for (auto& other : job.others) EXPECT_EQ(other->wait(), 0);
}

TEST(Communicator, ARankKilledDuringInitIsNamed) {
  const Variables variables{};
  const int shared = testing::sharedMemoryFiles();
  ProcessJob job("dieininit", 3);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 3, job.id, 0), ncclRemoteError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 1"));
  EXPECT_EQ(job.others[1]->wait(), 2);
  EXPECT_EQ(testing::sharedMemoryFiles(), shared);
}

TEST(Communicator, ARankKilledDuringAllReduceIsNamedByAll) {
  const Variables variables{};
  const int shared = testing::sharedMemoryFiles();
  ProcessJob job("loop", 4);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 4, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<float> data(100'000, 1);
  const auto allReduce = [&] {
    const ncclResult_t result =
        ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclMax, comm, nullptr);
    return result == ncclSuccess && cudaStreamSynchronize(nullptr) == cudaSuccess;
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(allReduce());
  job.others[1]->kill(SIGKILL);  // rank 2, which is no neighbour of this rank
  while (allReduce()) {
  }
  ncclResult_t async = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &async), ncclSuccess);
  EXPECT_EQ(async, ncclRemoteError);
  EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank 2"));
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 1, ncclFloat, ncclSum, comm, nullptr), ncclRemoteError);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(job.others[0]->wait(), 0);
  EXPECT_EQ(job.others[2]->wait(), 0);
  EXPECT_EQ(testing::sharedMemoryFiles(), shared);
}

TEST(Communicator, ARankThatLeavesAfterItsLastOperationDoesNoHarm) {
  const Variables variables{};
  ProcessJob job("leaveearly", 3);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 3, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  for (int i = 0; i < 50; ++i) checkSum(0, 3, comm, nullptr, 5000);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  for (auto& other : job.others) EXPECT_EQ(other->wait(), 0);
}

// Data that the root has sent stays valid after the root has left.
TEST(Communicator, ARootMayLeaveBeforeOthersCome) {
  const Variables variables{};
  testing::expectAllJoined(testing::runRanks(2, [](int rank, ncclComm_t comm) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i < 5; ++i) {
      int value = rank == 1 ? 17 + i : 0;
      ASSERT_EQ(ncclBroadcast(&value, &value, 1, ncclInt, 1, comm, nullptr), ncclSuccess);
      ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm);
      EXPECT_EQ(value, 17 + i);
    }
  }));
}

TEST(Communicator, AnOperationWithASetTimeOutNamesWhomItWaitsFor) {
  const Variables variables{{"XYLEM_OPERATION_TIMEOUT", "1"}};
  ProcessJob job("idle", 2);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 2, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  float x = 1;
  ASSERT_EQ(ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorLaunchFailure);
  EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank 0 waits for rank 1"));
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

// As PyTorch waits: by events, never in the stream of the operation itself.
TEST(Communicator, AFailedOperationFailsTheEventsAndStreamsBehindIt) {
  const Variables variables{{"XYLEM_OPERATION_TIMEOUT", "1"}};
  ProcessJob job("idle", 2);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 2, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  std::array<cudaStream_t, 2> streams{};
  std::array<cudaEvent_t, 2> events{};
  for (cudaStream_t& stream : streams)
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (cudaEvent_t& event : events) ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  float x = 1;
  ASSERT_EQ(ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, comm, streams[0]), ncclSuccess);
  ASSERT_EQ(cudaEventRecord(events[0], streams[0]), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(streams[1], events[0], 0), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(events[1], streams[1]), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(events[0]), cudaErrorLaunchFailure);
  EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank 0 waits for rank 1"));
  EXPECT_EQ(cudaEventQuery(events[0]), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaEventSynchronize(events[1]), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(streams[1]), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(streams[0]), cudaErrorLaunchFailure);
  // The program knows it now.
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(cudaEventRecord(events[i], streams[i]), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(events[i]), cudaSuccess);
  }
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  for (cudaEvent_t event : events) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  for (cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// As with NCCL, whose kernel just ends.
TEST(Communicator, AStreamIsWellAfterTheRanksOwnAbort) {
  ProcessJob job("idle", 2);
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 2, job.id, 0), ncclSuccess) << ncclGetLastError(nullptr);
  float x = 1;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(ncclAllReduce(&x, &x, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  ASSERT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  std::thread aborts([comm] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  aborts.join();
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

// Runs the role of a process that RankProcess has started. Its exit status is 0 if the role succeeds.
int playRole(const std::string& role, int rank, int ranks, const ncclUniqueId& id) {
  if (const testing::RankBody body = testing::RankRole::find(role)) return body(rank, ranks, id);
  if (role == "otherhost" && rank == 2) setenv("NCCL_HOSTID", "another", 1);
  if (role == "dieininit" && rank == 1) {
    // All ranks have met, and are about to plan and connect.
    const Settings settings = Settings::fromEnvironment();
    const auto met = bootstrap::Bootstrap::join({bootstrap::UniqueId::fromBytes(id.internal)}, rank, ranks,
                                                settings, Logger(settings), nullptr);
    ::kill(getpid(), SIGKILL);
  }
  ncclComm_t comm = nullptr;
  const ncclResult_t init = ncclCommInitRank(&comm, ranks, id, rank);
  if (init != ncclSuccess) return 2;
  if (role == "idle") std::this_thread::sleep_for(std::chrono::hours(1));
  if (role == "sum" || role == "otherhost")
    for (const std::size_t count : {1u, 1000u, 400'000u}) checkSum(rank, ranks, comm, nullptr, count);
  if (role == "leaveearly") {
    for (int i = 0; i < 50; ++i) checkSum(rank, ranks, comm, nullptr, 5000);
    if (rank == 1) _exit(0);  // without a farewell
  }
  if (role == "loop") {
    std::vector<float> data(100'000, 1);
    ncclResult_t result = ncclSuccess;
    while (result == ncclSuccess) {
      result = ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclMax, comm, nullptr);
      cudaStreamSynchronize(nullptr);
    }
    const bool named = std::string(ncclGetLastError(comm)).find("rank 2") != std::string::npos;
    ncclCommDestroy(comm);
    return result == ncclRemoteError && named ? 0 : 3;
  }
  ncclCommDestroy(comm);
  return ::testing::Test::HasFailure() ? 4 : 0;
}

}  // namespace

TEST(RankProcess, Role) {
  const std::string role = testing::roleOfThisProcess();
  if (role.empty()) GTEST_SKIP() << "only in processes that other tests start";
  std::_Exit(playRole(role, std::stoi(testing::variable("XYLEM_TEST_RANK")),
                      std::stoi(testing::variable("XYLEM_TEST_RANKS")),
                      testing::idOf(testing::variable("XYLEM_TEST_ID"))));
}

}  // namespace xylem::comm
