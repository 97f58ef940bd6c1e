// Communicators of GPUs through nccl.h, on GPUs that are threads of the CPU: the bits of the host device, failures, bad input.

#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "nccl.h"
#include "runtime/collectives/values.h"
#include "runtime/comm/host_threads.h"
#include "runtime/comm/join/comm_plan.h"
#include "runtime/gpu/gpu_ranks.h"
#include "runtime/gpu/mapped_gpus.h"
#include "support/effort.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kOps = 6;  // NCCL's five, and a sum of scaled elements

struct Call {
  Function function = Function::kAllReduce;
  DataType type = DataType::kFloat32;
  int op = 0;
  int root = 0;
  std::size_t count = 0;
  std::size_t shift = 0;  // elements by which buffers miss their alignment
  bool inPlace = false;
};

// Buffers of every rank, large enough for all calls.
struct Buffers {
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  explicit Buffers(Ranks& ranks) {
    for (int rank = 0; rank < ranks.count(); ++rank) {
      send.push_back(ranks.memory(rank, kBytes));
      receive.push_back(ranks.memory(rank, kBytes));
    }
  }
  std::vector<std::byte*> send, receive;
};

// Making random elements takes longer than the call: calls share those of their type, and each begins elsewhere among them.
std::vector<std::byte> inputOf(const Call& call, std::mt19937& random) {
  static std::map<std::pair<DataType, bool>, std::vector<std::byte>> made;
  const bool isProduct = call.op == static_cast<int>(ReduceOp::kProd);
  std::vector<std::byte>& elements = made[{call.type, isProduct}];
  if (elements.empty()) {
    elements.resize(Buffers::kBytes);
    const std::size_t bytes = elementBytes(call.type);
    for (std::size_t at = 0; at < elements.size(); at += bytes)
      randomElement(call.type, isProduct, random, elements.data() + at);
  }
  const auto begin = static_cast<std::ptrdiff_t>(random() % (Buffers::kBytes / 64) * 64);
  std::vector<std::byte> input(Buffers::kBytes);
  std::rotate_copy(elements.begin(), elements.begin() + begin, elements.end(), input.begin());
  return input;
}

ncclResult_t make(const Call& call, const Ranks& ranks, int rank, std::byte* send, std::byte* receive,
                  int op) {
  const auto type = static_cast<ncclDataType_t>(call.type);
  const auto reduction = static_cast<ncclRedOp_t>(op);
  const ncclComm_t comm = ranks.comm(rank);
  const cudaStream_t stream = ranks.stream(rank);
  const std::size_t block = call.count * elementBytes(call.type) * static_cast<std::size_t>(rank);
  const int next = (rank + 1) % ranks.count(), previous = (rank + ranks.count() - 1) % ranks.count();
  switch (call.function) {
    case Function::kBroadcast:
      return ncclBroadcast(call.inPlace ? receive : send, receive, call.count, type, call.root, comm, stream);
    case Function::kReduce:
      return ncclReduce(call.inPlace ? receive : send, receive, call.count, type, reduction, call.root, comm,
                        stream);
    case Function::kAllGather:
      return ncclAllGather(call.inPlace ? receive + block : send, receive, call.count, type, comm, stream);
    case Function::kReduceScatter:
      return ncclReduceScatter(send, call.inPlace ? send + block : receive, call.count, type, reduction, comm,
                               stream);
    case Function::kAllReduce:
      return ncclAllReduce(call.inPlace ? receive : send, receive, call.count, type, reduction, comm, stream);
    case Function::kSend:
    case Function::kRecv:
      if (const ncclResult_t sent = ncclSend(send, call.count, type, next, comm, stream); sent != ncclSuccess)
        return sent;
      return ncclRecv(receive, call.count, type, previous, comm, stream);
    case Function::kAlltoAll:
      return ncclAlltoAll(send, receive, call.count, type, comm, stream);
  }
  return ncclInternalError;
}

// Makes the call on all ranks as one group, and returns all that the ranks have then.
std::vector<std::byte> resultOf(const Call& call, Ranks& ranks, Buffers& buffers,
                                const std::vector<std::byte>& input) {
  std::vector<ncclRedOp_t> made(static_cast<std::size_t>(ranks.count()), static_cast<ncclRedOp_t>(call.op));
  const std::size_t shift = call.shift * elementBytes(call.type);
  for (int rank = 0; rank < ranks.count(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    // Every rank has another part of the values.
    std::rotate_copy(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(64 * (r + 1)), input.end(),
                     buffers.send[r]);
    std::rotate_copy(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(64 * (r + 9)), input.end(),
                     buffers.receive[r]);
    if (call.op == kReduceOps) {
      EXPECT_EQ(ncclRedOpCreatePreMulSum(&made[r], buffers.send[r], static_cast<ncclDataType_t>(call.type),
                                         ncclScalarHostImmediate, ranks.comm(rank)),
                ncclSuccess);
    }
  }
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < ranks.count(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    EXPECT_EQ(make(call, ranks, rank, buffers.send[r] + shift, buffers.receive[r] + shift, made[r]),
              ncclSuccess)
        << ncclGetLastError(nullptr);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  ranks.await();
  std::vector<std::byte> all;
  all.reserve(2 * Buffers::kBytes * static_cast<std::size_t>(ranks.count()));
  for (int rank = 0; rank < ranks.count(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (call.op == kReduceOps) ncclRedOpDestroy(made[r], ranks.comm(rank));
    for (const std::byte* const from : {buffers.send[r], buffers.receive[r]})
      all.insert(all.end(), from, from + Buffers::kBytes);
  }
  return all;
}

std::string describe(const Call& call, int ranks) {
  return fmt::format("{} of {} {}, op {}, root {}, shift {}{}, {} ranks", name(call.function), call.count,
                     name(call.type), call.op, call.root, call.shift, call.inPlace ? ", in place" : "",
                     ranks);
}

class GpuCommunicators : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  // Every function, type, operation, with 2 to `mostRanks` ranks. A rank's buffers are compared as a whole, so a byte that is
  // written beside the result counts, too.
  // `areDirect`: the GPUs move data into each other's memory.
  void compareWithHostDevices(int mostRanks, bool areDirect, const MappedGpus::Options& options = {});
};

void GpuCommunicators::compareWithHostDevices(int mostRanks, bool areDirect,
                                              const MappedGpus::Options& options) {
  const auto& [algorithm, protocol] = GetParam();
  std::mt19937 random(20240607);
  std::vector<Function> functions{Function::kAllReduce};
  if (std::string(algorithm) == "PAT") functions = {Function::kAllGather, Function::kReduceScatter};
  if (std::string(algorithm) == "Ring")
    functions = {Function::kAllReduce, Function::kReduceScatter, Function::kReduce,  Function::kAllGather,
                 Function::kBroadcast, Function::kSend,          Function::kAlltoAll};
  int compared = 0;
  for (int count = 2; count <= mostRanks; ++count) {
    MappedGpus gpus(options);
    Ranks onHost(nullptr, count), onGpus(&gpus, count);
    Buffers hostBuffers(onHost), gpuBuffers(onGpus);
    for (const Function function : functions) {
      for (int type = 0; type < kDataTypes; ++type) {
        const int first = (type + count) % kOps;
        const int tries = !reduces(function) ? 1 : effort() == Effort::kNight ? kOps : 2;
        for (int i = 0; i < tries; ++i) {
          Call call{.function = function, .type = static_cast<DataType>(type)};
          if (reduces(function)) call.op = (first + i * (tries == kOps ? 1 : 3)) % kOps;
          if (algorithm[0] == 'P') call.op %= static_cast<int>(ReduceOp::kAvg);  // PAT does not scale
          call.root = static_cast<int>(random() % static_cast<unsigned>(count));
          call.count = 1 + random() % (Buffers::kBytes / 8 / static_cast<std::size_t>(count + 1) / 8);
          if (random() % 4 == 0) call.count *= 4;
          call.shift = random() % 3;
          call.inPlace = random() % 3 == 0;
          const std::vector<std::byte> input = inputOf(call, random);
          const bool same =
              resultOf(call, onHost, hostBuffers, input) == resultOf(call, onGpus, gpuBuffers, input);
          ASSERT_TRUE(same) << describe(call, count) << ", " << algorithm << ", " << protocol;
          ASSERT_FALSE(HasFailure()) << describe(call, count);
          ++compared;
        }
      }
    }
    EXPECT_GE(gpus.launches(), count);
    EXPECT_EQ(gpus.reachablePairs() > 0, areDirect);
  }
  RecordProperty("compared", compared);
}

TEST_P(GpuCommunicators, HaveTheBitsOfTheHostDevice) {
  const auto& [algorithm, protocol] = GetParam();
  const Environment environment(variablesOf(algorithm, protocol));
  compareWithHostDevices(8, true);
}

TEST_P(GpuCommunicators, HaveTheBitsOfTheHostDeviceWithoutPeerAccess) {
  const auto& [algorithm, protocol] = GetParam();
  const Environment environment(variablesOf(algorithm, protocol));
  compareWithHostDevices(3, false, {.reachPeers = false});
}

// The progress threads of this process. A rank has one if any queue of it leads over a network.
int progressThreads() {
  int found = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "comm");
    std::string name;
    found += std::getline(file, name) && name == "xylem-proxy" ? 1 : 0;
  }
  return found;
}

TEST_P(GpuCommunicators, HaveTheBitsOfTheHostDeviceOverANetwork) {
  const auto& [algorithm, protocol] = GetParam();
  const Environment environment(variablesOf(algorithm, protocol, true));
  compareWithHostDevices(4, false);
  MappedGpus gpus;
  const Ranks ranks(&gpus, 2);
  EXPECT_EQ(progressThreads(), 2);
}

std::string nameOf(const ::testing::TestParamInfo<GpuCommunicators::ParamType>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, GpuCommunicators,
                         ::testing::Combine(::testing::Values("Ring", "Tree"),
                                            ::testing::Values("Simple", "LL", "LL128")),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Logarithmic, GpuCommunicators,
                         ::testing::Combine(::testing::Values("PAT"), ::testing::Values("Simple")), nameOf);

std::string failureOf(ncclResult_t expected, ncclResult_t got) {
  EXPECT_EQ(got, expected) << ncclGetLastError(nullptr);
  return ncclGetLastError(nullptr);
}

// The ranks find the error at the same time: the result is one of theirs, or that another rank has failed.
std::string refusal(ncclResult_t got) {
  EXPECT_NE(got, ncclSuccess);
  return ncclGetLastError(nullptr);
}

// One group of several operations, on several streams, with trees, whose two programs share a channel's queues with rings. None reads
// what another one writes, as the channels of a group wait for nothing but each their own works.
TEST(GpuLaunches, OfAGroupAreOneKernelInTheOrderOfItsStreams) {
  const Environment environment(variablesOf("Ring,Tree", "Simple"));
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 1500;
  MappedGpus gpus;
  {
    Ranks ranks(&gpus, kRanks);
    std::vector<float*> data, more, largest, few;
    std::vector<cudaStream_t> second;
    bool opens = false;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::vector<float*>* const buffers : {&data, &more, &largest, &few}) {
        buffers->push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
        std::fill_n(buffers->back(), kCount, static_cast<float>(rank));
      }
      second.push_back(static_cast<cudaStream_t>(gpus.makeStream()));
      gpus.hold(second.back(), &opens);
    }
    const int before = gpus.launches();
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const ncclComm_t comm = ranks.comm(rank);
      ASSERT_EQ(ncclAllReduce(data[r], data[r], kCount, ncclFloat, ncclSum, comm, ranks.stream(rank)),
                ncclSuccess);
      ASSERT_EQ(ncclAllReduce(largest[r], largest[r], kCount, ncclFloat, ncclMax, comm, ranks.stream(rank)),
                ncclSuccess);
      ASSERT_EQ(ncclAllReduce(more[r], more[r], kCount, ncclFloat, ncclSum, comm, second[r]), ncclSuccess);
      ASSERT_EQ(ncclBroadcast(few[r], few[r], 3, ncclFloat, 1, comm, ranks.stream(rank)), ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(gpus.launches() - before, kRanks);
    // The kernel stands behind both streams: it reads what is stored before the second one goes on.
    for (float* const values : data) std::fill_n(values, kCount, 2.0f);
    __atomic_store_n(&opens, true, __ATOMIC_RELEASE);
    // A launch in another stream comes after the ones before.
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      ASSERT_EQ(ncclAllReduce(data[r], data[r], kCount, ncclFloat, ncclSum, ranks.comm(rank), second[r]),
                ncclSuccess);
    }
    for (const cudaStream_t stream : second) gpus.await(stream);
    ranks.await();
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      expectAll(data[r], kCount, 2.0f * kRanks * kRanks);
      expectAll(largest[r], kCount, kRanks - 1.0f);
      expectAll(more[r], kCount, 0.0f + 1.0f + 2.0f);
      expectAll(few[r], 3, 1.0f);
      expectAll(few[r] + 3, kCount - 3, static_cast<float>(rank));
    }
  }
  EXPECT_EQ(gpus.allocated(), 0u);  // everything was given back
}

TEST(GpuLaunches, InAnotherStreamComeAfterThoseBefore) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 2;
  constexpr std::size_t kCount = 3000;
  MappedGpus gpus;
  {
    Ranks ranks(&gpus, kRanks);
    std::vector<float*> data, more;
    std::vector<cudaStream_t> second;
    bool opens = false;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::vector<float*>* const buffers : {&data, &more}) {
        buffers->push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
        std::fill_n(buffers->back(), kCount, 1.0f);
      }
      gpus.hold(ranks.stream(rank), &opens);
      second.push_back(static_cast<cudaStream_t>(gpus.makeStream()));
    }
    const auto reduce = [&](const std::vector<float*>& buffers, auto&& streamOf) {
      for (int rank = 0; rank < kRanks; ++rank) {
        float* const values = buffers[static_cast<std::size_t>(rank)];
        ASSERT_EQ(ncclAllReduce(values, values, kCount, ncclFloat, ncclSum, ranks.comm(rank), streamOf(rank)),
                  ncclSuccess);
      }
    };
    reduce(data, [&](int rank) { return ranks.stream(rank); });
    reduce(more, [&](int rank) { return second[static_cast<std::size_t>(rank)]; });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (const float* const values : more) expectAll(values, kCount, 1.0f);
    __atomic_store_n(&opens, true, __ATOMIC_RELEASE);
    for (const cudaStream_t stream : second) gpus.await(stream);
    for (const float* const values : data) expectAll(values, kCount, 2.0f);
    for (const float* const values : more) expectAll(values, kCount, 2.0f);
  }
  EXPECT_EQ(gpus.allocated(), 0u);
}

// A stream may have the handle of one that was destroyed, and the default streams of all threads have one in common.
TEST(GpuLaunches, InAnotherStreamOfTheSameHandleComeAfterThoseBefore) {
  for (const bool areThreadsOwn : {false, true}) {
    const Environment environment(variablesOf("Ring", "Simple"));
    constexpr int kRanks = 2;
    constexpr std::size_t kCount = 3000;
    MappedGpus gpus;
    Ranks ranks(&gpus, kRanks);
    const auto streamOf = [&](int rank) {
      return areThreadsOwn ? static_cast<cudaStream_t>(gpu::kThreadsOwnStream) : ranks.stream(rank);
    };
    const auto reduce = [&](const std::vector<float*>& buffers) {
      for (int rank = 0; rank < kRanks; ++rank) {
        float* const values = buffers[static_cast<std::size_t>(rank)];
        ASSERT_EQ(ncclAllReduce(values, values, kCount, ncclFloat, ncclSum, ranks.comm(rank), streamOf(rank)),
                  ncclSuccess)
            << ncclGetLastError(nullptr);
      }
    };
    std::vector<float*> data, more;
    bool opens = false;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::vector<float*>* const buffers : {&data, &more}) {
        buffers->push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * kCount)));
        std::fill_n(buffers->back(), kCount, 1.0f);
      }
      gpus.hold(streamOf(rank), &opens);
    }
    reduce(data);
    const auto reduceMore = [&] {
      reduce(more);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (const float* const values : more) expectAll(values, kCount, 1.0f);
      __atomic_store_n(&opens, true, __ATOMIC_RELEASE);
      for (int rank = 0; rank < kRanks; ++rank) {
        gpus.setDevice(rank);
        gpus.await(streamOf(rank));
      }
    };
    if (areThreadsOwn) {
      std::thread(reduceMore).join();
    } else {
      for (int rank = 0; rank < kRanks; ++rank) gpus.replaceStream(ranks.stream(rank));
      reduceMore();
    }
    for (const float* const values : data) expectAll(values, kCount, 2.0f);
    for (const float* const values : more) expectAll(values, kCount, 2.0f);
  }
}

// Two channels with two programs each, and a GPU that runs two blocks.
TEST(GpuLaunches, LetChannelsTakeTurnsOnAGpuWithFewBlocks) {
  for (const char* const protocol : {"Simple", "LL"}) {
    const Environment environment(variablesOf("Ring,Tree", protocol));
    setenv("NCCL_ALGO", "allreduce:Tree;broadcast:Ring", 1);
    setenv("NCCL_MIN_CTAS", "2", 1);
    constexpr int kRanks = 3;
    MappedGpus gpus({.residentBlocks = 2});
    Ranks ranks(&gpus, kRanks);
    for (const std::size_t count : {std::size_t{1}, std::size_t{5000}, std::size_t{60000}}) {
      std::vector<float*> first, second, third;  // of the three operations
      for (int rank = 0; rank < kRanks; ++rank)
        for (std::vector<float*>* const buffers : {&first, &second, &third}) {
          buffers->push_back(reinterpret_cast<float*>(ranks.memory(rank, 4 * count)));
          std::fill_n(buffers->back(), count, static_cast<float>(rank));
        }
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const ncclComm_t comm = ranks.comm(rank);
        const cudaStream_t stream = ranks.stream(rank);
        ASSERT_EQ(ncclAllReduce(first[r], first[r], count, ncclFloat, ncclSum, comm, stream), ncclSuccess);
        ASSERT_EQ(ncclBroadcast(second[r], second[r], count, ncclFloat, 1, comm, stream), ncclSuccess);
        ASSERT_EQ(ncclAllReduce(third[r], third[r], count, ncclFloat, ncclMax, comm, stream), ncclSuccess);
      }
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
      ranks.await();
      for (std::size_t r = 0; r < kRanks; ++r) {
        expectAll(first[r], count, 0.0f + 1.0f + 2.0f);
        expectAll(second[r], count, 1.0f);
        expectAll(third[r], count, kRanks - 1.0f);
      }
    }
  }
}

TEST(GpuRanks, AreThreadsThatConnectWhileTheySendAndReadScalarsWhenTheyRun) {
  const Environment environment(variablesOf("Ring", "Simple"));
  constexpr int kRanks = 4;
  MappedGpus gpus;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      gpus.setDevice(rank);
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, kRanks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
      const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
      auto* const values = static_cast<std::int64_t*>(gpus.allocate(64));
      values[0] = rank;
      // From even ranks to odd ones, and back.
      const int other = rank ^ 1;
      if (rank % 2 == 0) {
        ASSERT_EQ(ncclSend(values, 1, ncclInt64, other, comm, stream), ncclSuccess)
            << ncclGetLastError(nullptr);
        ASSERT_EQ(ncclRecv(values + 1, 1, ncclInt64, other, comm, stream), ncclSuccess)
            << ncclGetLastError(nullptr);
      } else {
        ASSERT_EQ(ncclRecv(values + 1, 1, ncclInt64, other, comm, stream), ncclSuccess)
            << ncclGetLastError(nullptr);
        ASSERT_EQ(ncclSend(values, 1, ncclInt64, other, comm, stream), ncclSuccess)
            << ncclGetLastError(nullptr);
      }
      gpus.await(stream);
      EXPECT_EQ(values[1], other);
      ncclRedOp_t scaled;
      ASSERT_EQ(ncclRedOpCreatePreMulSum(&scaled, values + 2, ncclInt64, ncclScalarDevice, comm),
                ncclSuccess);
      bool opens = false;
      gpus.hold(stream, &opens);
      ASSERT_EQ(ncclAllReduce(values, values + 3, 1, ncclInt64, scaled, comm, stream), ncclSuccess);
      values[2] = 10;
      __atomic_store_n(&opens, true, __ATOMIC_RELEASE);
      gpus.await(stream);
      EXPECT_EQ(values[3], 10 * (0 + 1 + 2 + 3));
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  for (std::thread& thread : threads) thread.join();
}

// Two hosts of two GPUs each: rings and trees that cross between the hosts once, sends and receives that connect when they are
// made, and a rank that does not come.
TEST(GpuHosts, ReachEachOtherOverTheNetwork) {
  std::map<std::string, std::string> variables = variablesOf("Ring,Tree", "Simple,LL,LL128");
  variables["XYLEM_OPERATION_TIMEOUT"] = "3";
  const Environment environment(variables);
  constexpr int kRanks = 4;
  constexpr std::size_t kMost = 50000;
  MappedGpus gpus;
  std::barrier together(kRanks);
  const auto results = runOnHosts(
      2, 2,
      [&](int rank, ncclComm_t& comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        auto* const values = static_cast<float*>(gpus.allocate(kMost * sizeof(float)));
        auto* const sums = static_cast<float*>(gpus.allocate(kMost * sizeof(float)));
        for (std::size_t i = 0; i < kMost; ++i) values[i] = static_cast<float>(rank + 1);
        for (const std::size_t count : {std::size_t{1}, std::size_t{700}, kMost}) {
          ASSERT_EQ(ncclAllReduce(values, sums, count, ncclFloat, ncclSum, comm, stream), ncclSuccess)
              << ncclGetLastError(nullptr);
          gpus.await(stream);
          EXPECT_EQ(std::count(sums, sums + count, 10.0f), static_cast<std::ptrdiff_t>(count));
        }
        const int other = (rank + 2) % kRanks;
        ASSERT_EQ(ncclGroupStart(), ncclSuccess);
        EXPECT_EQ(ncclSend(values, kMost, ncclFloat, other, comm, stream), ncclSuccess);
        EXPECT_EQ(ncclRecv(sums, kMost, ncclFloat, other, comm, stream), ncclSuccess);
        ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
        gpus.await(stream);
        EXPECT_EQ(std::count(sums, sums + kMost, static_cast<float>(other + 1)),
                  static_cast<std::ptrdiff_t>(kMost));
        together.arrive_and_wait();
        if (rank != 0) {
          ASSERT_EQ(ncclAllReduce(values, sums, kMost, ncclFloat, ncclSum, comm, stream), ncclSuccess);
          gpus.await(stream);  // ended by the time-out
          EXPECT_EQ(asyncErrorOf(comm), ncclRemoteError);
          EXPECT_THAT(ncclGetLastError(comm), HasSubstr("timed out"));
        }
        together.arrive_and_wait();
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        comm = nullptr;
      },
      [&](int rank) { gpus.setDevice(rank); });
  expectAllJoined(results);
}

// Its connections break while the others still wait for each other.
TEST(GpuHosts, MayLeaveBeforeOthersCome) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  const auto results = runOnHosts(
      3, 1,
      [&](int rank, ncclComm_t comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        auto* const values = static_cast<float*>(gpus.allocate(64 * sizeof(float)));
        std::fill_n(values, 64, static_cast<float>(rank));
        if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(3500));
        EXPECT_EQ(ncclBroadcast(values, values, 64, ncclFloat, 0, comm, stream), ncclSuccess);
        gpus.await(stream);
        ncclResult_t state = ncclSuccess;
        EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
        EXPECT_EQ(state, ncclSuccess) << ncclGetLastError(comm);
        EXPECT_EQ(std::count(values, values + 64, 0.0f), 64);
      },
      [&](int rank) { gpus.setDevice(rank); });
  expectAllJoined(results);
}

TEST(GpuHosts, AreRefusedBesideHostDevicesOverANetwork) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  const auto results = runOnHosts(
      2, 2, [](int, ncclComm_t&) { ADD_FAILURE() << "joined"; },
      [&](int rank) {
        gpus.setDevice(rank);
        setenv("XYLEM_DEVICE", rank == 3 ? "host" : "auto", 1);
      });
  for (const RankResult& result : results)
    EXPECT_THAT(result.text, HasSubstr("ranks 0-2 use GPUs and rank 3 host devices"));
}

// Checked mode: kernels of calls that differ end, and the error says who calls what.
TEST(GpuChecks, NameCallsThatDiffer) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["XYLEM_CHECK"] = "1";
  const Environment environment(variables);
  MappedGpus gpus;
  Ranks ranks(&gpus, 3);
  std::vector<float*> data;
  for (int rank = 0; rank < 3; ++rank) data.push_back(reinterpret_cast<float*>(ranks.memory(rank, 4000)));
  // Kernels of several launches are under way while the first ones are compared.
  for (int call = 0; call < 5; ++call)
    for (int rank = 0; rank < 3; ++rank)
      ASSERT_EQ(ncclAllReduce(data[static_cast<std::size_t>(rank)], data[static_cast<std::size_t>(rank)],
                              1000, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
                ncclSuccess);
  ranks.await();
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_EQ(ncclAllReduce(data[static_cast<std::size_t>(rank)], data[static_cast<std::size_t>(rank)],
                            rank == 2 ? 999 : 1000, ncclFloat, ncclSum, ranks.comm(rank), ranks.stream(rank)),
              ncclSuccess);
  ranks.await();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(asyncErrorOf(ranks.comm(rank)), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(ranks.comm(rank)),
                HasSubstr("collective #5: ranks 0-1: AllReduce of 1000 float sum; rank 2: AllReduce of 999"));
  }
}

TEST(GpuChecks, NameTheRankThatDoesNotCall) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["XYLEM_CHECK"] = "1";
  variables["XYLEM_OPERATION_TIMEOUT"] = "1";
  const Environment environment(variables);
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  auto* const data = reinterpret_cast<float*>(ranks.memory(0, 64));
  ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0)), ncclSuccess);
  gpus.await(ranks.stream(0));
  EXPECT_EQ(asyncErrorOf(ranks.comm(0)), ncclRemoteError);
  EXPECT_THAT(ncclGetLastError(ranks.comm(0)),
              HasSubstr("rank 1 has not come to collective #0, AllReduce of 4 float sum"));
}

TEST(GpuChecks, AlsoCompareOverANetwork) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["XYLEM_CHECK"] = "1";
  const Environment environment(variables);
  MappedGpus gpus;
  const auto results = runOnHosts(
      2, 1,
      [&](int rank, ncclComm_t comm) {
        const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
        auto* const values = static_cast<float*>(gpus.allocate(4000));
        const auto call = [&](ncclRedOp_t op) {
          EXPECT_EQ(ncclAllReduce(values, values, 1000, ncclFloat, op, comm, stream), ncclSuccess);
          gpus.await(stream);
        };
        call(ncclSum);
        call(rank == 0 ? ncclMax : ncclMin);
        EXPECT_EQ(asyncErrorOf(comm), ncclInvalidUsage);
        EXPECT_THAT(ncclGetLastError(comm),
                    HasSubstr("rank 0: AllReduce of 1000 float max; rank 1: AllReduce of 1000 float min"));
      },
      [&](int rank) { gpus.setDevice(rank); });
  expectAllJoined(results);
}

TEST(GpuFailures, EndKernelsAndNameTheRank) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["XYLEM_OPERATION_TIMEOUT"] = "2";
  const Environment environment(variables);
  MappedGpus gpus;
  {
    // Rank 1 does not come.
    Ranks ranks(&gpus, 2);
    std::byte* const data = ranks.memory(0, 64);
    ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0)), ncclSuccess);
    gpus.await(ranks.stream(0));  // the kernel ends
    EXPECT_EQ(asyncErrorOf(ranks.comm(0)), ncclRemoteError);
    EXPECT_THAT(ncclGetLastError(ranks.comm(0)),
                AllOf(HasSubstr("timed out"), HasSubstr("rank 0 waits for rank 1")));
  }
  {
    // The ranks call different operations: one kernel finds out, and the other one is ended.
    Ranks ranks(&gpus, 2);
    std::byte* const zero = ranks.memory(0, 1024);
    std::byte* const one = ranks.memory(1, 1024);
    ASSERT_EQ(ncclBroadcast(zero, zero, 64, ncclInt8, 0, ranks.comm(0), ranks.stream(0)), ncclSuccess);
    ASSERT_EQ(ncclBroadcast(one, one, 128, ncclInt8, 0, ranks.comm(1), ranks.stream(1)), ncclSuccess);
    ranks.await();
    EXPECT_EQ(asyncErrorOf(ranks.comm(1)), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(ranks.comm(1)),
                HasSubstr("rank 1, GPU 1: rank 0 sent 64 bytes in Broadcast where 128 are expected"));
  }
  {
    // An abort ends a kernel that waits.
    gpus.setDevice(0);
    std::vector<ncclComm_t> comms(2);
    ASSERT_EQ(ncclCommInitAll(comms.data(), 2, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
    const auto stream = static_cast<cudaStream_t>(gpus.makeStream());
    void* const data = gpus.allocate(64);
    ASSERT_EQ(ncclAllReduce(data, data, 4, ncclFloat, ncclSum, comms[0], stream), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(comms[0]), ncclSuccess);
    gpus.await(stream);
    EXPECT_EQ(ncclCommAbort(comms[1]), ncclSuccess);
  }
}

TEST(GpuBadInput, IsAnErrorThatNamesRankAndDevice) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  const auto allReduce = [&](void* data, cudaStream_t stream) {
    return ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(1), stream);
  };
  std::byte* const other = ranks.memory(0, 64);
  std::byte* const own = ranks.memory(1, 64);
  float onHost[4]{};
  EXPECT_THAT(
      failureOf(ncclInvalidArgument, allReduce(other, ranks.stream(1))),
      AllOf(HasSubstr("ncclAllReduce: rank 1, GPU 1: sendbuff"), HasSubstr("in the memory of GPU 0")));
  EXPECT_THAT(failureOf(ncclInvalidArgument, allReduce(onHost, ranks.stream(1))),
              HasSubstr("memory of the host that the GPU cannot reach"));
  EXPECT_THAT(failureOf(ncclInvalidArgument, allReduce(own, ranks.stream(0))),
              HasSubstr("the stream is one of GPU 0; make it while GPU 1 is the current device"));
  EXPECT_THAT(failureOf(ncclInvalidArgument, allReduce(own, reinterpret_cast<cudaStream_t>(onHost))),
              HasSubstr("is no stream"));
  EXPECT_THAT(failureOf(ncclInvalidArgument, allReduce(own + 1, ranks.stream(1))), HasSubstr("align it"));
  for (void* const scalar : {static_cast<void*>(other), static_cast<void*>(onHost)}) {
    ncclRedOp_t scaled;
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&scaled, scalar, ncclFloat, ncclScalarDevice, ranks.comm(1)),
              ncclSuccess);
    EXPECT_THAT(failureOf(ncclInvalidArgument,
                          ncclAllReduce(own, own, 4, ncclFloat, scaled, ranks.comm(1), ranks.stream(1))),
                AllOf(HasSubstr("ncclAllReduce: rank 1, GPU 1: the scalar of op"),
                      HasSubstr(scalar == other ? "in the memory of GPU 0" : "that the GPU cannot reach")));
    EXPECT_EQ(ncclRedOpDestroy(scaled, ranks.comm(1)), ncclSuccess);
  }
  gpus.beginCapture(ranks.stream(1));
  gpus.setDevice(1);
  const auto second = static_cast<cudaStream_t>(gpus.makeStream());
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(allReduce(own, ranks.stream(1)), ncclSuccess);
  EXPECT_EQ(allReduce(own, second), ncclSuccess);
  EXPECT_THAT(failureOf(ncclInvalidUsage, ncclGroupEnd()),
              HasSubstr("rank 1, GPU 1: the streams of a group are all captured into one graph, or none"));
  gpus.endCapture(ranks.stream(1));
  // Nothing of that has broken the communicator.
  ncclResult_t state = ncclInternalError;
  ASSERT_EQ(ncclCommGetAsyncError(ranks.comm(1), &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess);
}

// The root goes on where the other rank's buffer ends: what comes there fits into the queue.
TEST(GpuBadInput, ALongerBroadcastWritesNothingBehindTheOutput) {
  std::map<std::string, std::string> variables = variablesOf("Ring", "Simple");
  variables["NCCL_MAX_CTAS"] = "1";
  const Environment environment(variables);
  MappedGpus gpus;
  Ranks ranks(&gpus, 2);
  constexpr std::size_t kCount = 33 << 10, kMore = 4 << 10;
  std::byte* const longer = ranks.memory(0, kCount + kMore);
  std::byte* const shorter = ranks.memory(1, kCount + kMore);
  std::fill_n(longer, kCount + kMore, std::byte{1});
  std::fill_n(shorter, kCount + kMore, std::byte{2});
  ASSERT_EQ(ncclBroadcast(shorter, shorter, kCount, ncclInt8, 0, ranks.comm(1), ranks.stream(1)),
            ncclSuccess);
  ASSERT_EQ(ncclBroadcast(longer, longer, kCount + kMore, ncclInt8, 0, ranks.comm(0), ranks.stream(0)),
            ncclSuccess);
  ranks.await();
  EXPECT_GE(gpus.offering(), 1);
  EXPECT_EQ(std::count(shorter, shorter + kCount, std::byte{1}), static_cast<std::ptrdiff_t>(kCount));
  EXPECT_EQ(std::count(shorter + kCount, shorter + kCount + kMore, std::byte{2}),
            static_cast<std::ptrdiff_t>(kMore));
}

TEST(GpuPlans, DoWithoutLl128WhereGpusMayNotReachEachOtherUnlessAsked) {
  const auto protocols = [](const Settings& settings, bool onGpus = true) {
    return comm::settingsForPlan(settings, onGpus).text(Setting::kProto);
  };
  const Settings apart = Settings::fromPairs({{"NCCL_P2P_DISABLE", "1"}});
  EXPECT_EQ(protocols(Settings()), "");
  EXPECT_EQ(protocols(apart, false), "");
  EXPECT_EQ(protocols(apart), "^LL128");
  const auto asked = [&](const char* list) {
    return protocols(Settings::fromPairs({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_PROTO", list}}));
  };
  EXPECT_EQ(asked("LL128"), "LL128");
  EXPECT_EQ(asked("Simple,LL"), "Simple,LL");
  EXPECT_EQ(asked("^LL"), "^LL,LL128");
  EXPECT_EQ(asked("^LL128"), "^LL128");
  EXPECT_EQ(asked("allreduce:LL128"), "^LL128;allreduce:LL128");
  EXPECT_EQ(asked("Simple;broadcast:^LL"), "Simple;broadcast:^LL,LL128");
}

TEST(GpuMemory, OfNcclMemAllocIsTheGpusOwn) {
  const Environment environment(variablesOf("Ring", "Simple"));
  MappedGpus gpus({.memoryBytes = std::size_t{1} << 20});
  setenv("XYLEM_DEVICE", "auto", 1);
  gpus.setDevice(1);
  void* memory = nullptr;
  ASSERT_EQ(ncclMemAlloc(&memory, 1000), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(gpus.deviceOf(memory), 1);
  gpus.setDevice(0);
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(gpus.deviceOf(memory), -1);
  EXPECT_EQ(ncclMemFree(memory), ncclInvalidArgument) << "given back before";
  EXPECT_THAT(
      failureOf(ncclUnhandledCudaError, ncclMemAlloc(&memory, std::size_t{2} << 20)),
      AllOf(HasSubstr("ncclMemAlloc"), HasSubstr("GPU 0: allocating 2097152 bytes failed: out of memory")));
}

TEST(GpuBadMachines, AreErrorsThatNameRankAndDevice) {
  const Environment environment(variablesOf("Ring", "Simple"));
  std::vector<ncclComm_t> comms(2);
  const auto initAll = [&] { return ncclCommInitAll(comms.data(), 2, nullptr); };
  {
    MappedGpus gpus({.driverVersion = 11080});
    EXPECT_THAT(
        refusal(initAll()),
        ::testing::ContainsRegex("rank [01], GPU [01]: the driver is for CUDA 11.8; the kernel needs one for "
                                 "CUDA 12.0 or newer, as CUDA 12.8 has compiled it"));
  }
  {
    MappedGpus gpus({.loadsKernel = false});
    EXPECT_THAT(refusal(initAll()),
                ::testing::ContainsRegex(
                    "rank [01], GPU [01]: the driver, which is for CUDA 12.4, does not load the kernel, "
                    "which CUDA 12.8 has compiled: invalid value"));
  }
  {
    MappedGpus gpus({.areOne = true});
    EXPECT_THAT(refusal(initAll()), HasSubstr("rank 0 and rank 1 both use GPU"));
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    EXPECT_EQ(initAll(), ncclSuccess) << ncclGetLastError(nullptr);
    for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
  {
    MappedGpus gpus({.residentBlocks = 1, .areOne = true});
    Ranks ranks(&gpus, 2);
    std::byte* const data = ranks.memory(0, 64);
    EXPECT_THAT(failureOf(ncclInvalidUsage,
                          ncclAllReduce(data, data, 4, ncclFloat, ncclSum, ranks.comm(0), ranks.stream(0))),
                AllOf(HasSubstr("rank 0, GPU 0: the group needs"),
                      HasSubstr("the GPU has 0 for each of the 2 ranks")));
    unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  }
  {
    MappedGpus gpus({.memoryBytes = 128});
    EXPECT_THAT(
        refusal(initAll()),
        AllOf(HasSubstr(", GPU "), HasSubstr("not enough memory for 2097152 bytes of kernels' works")));
  }
  {
    MappedGpus gpus({.devices = 1});
    EXPECT_THAT(refusal(initAll()), HasSubstr("ndev is 2, but there are 1 devices"));
  }
}

}  // namespace
}  // namespace xylem::testing
