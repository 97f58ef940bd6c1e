#pragma once
// Results of communicators on GPUs: against sums that are exact, and as hashes of all bytes, which a run on host devices must
// print alike.

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <string>

#include "team.h"

// The calls as a graph.
inline cudaGraphExec_t graphOf(const Rank& rank, const std::function<void()>& calls) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  CUDA(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
  calls();
  CUDA(cudaStreamEndCapture(rank.stream, &graph));
  CUDA(cudaGraphInstantiate(&instance, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return instance;
}

// Small whole numbers, whose sums are exact in every type.
inline int valueOf(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 3) % 11);
}

template <typename T>
void expect(const Rank& rank, const char* what, const std::vector<T>& got,
            const std::function<double(std::size_t)>& right) {
  for (std::size_t i = 0; i < got.size(); ++i)
    if (static_cast<double>(got[i]) != right(i)) {
      std::fprintf(stderr, "%s of %zu elements: rank %d has %g at %zu; %g is right\n", what, got.size(),
                   rank.rank, static_cast<double>(got[i]), i, right(i));
      std::_Exit(1);
    }
}

// A rank's buffers for all checks: of the GPU, and pinned ones of the host to fill and to look at them.
struct Buffers {
  explicit Buffers(std::size_t bytes) : bytes(bytes) {
    send = deviceMemory(bytes);
    NCCL(ncclMemAlloc(reinterpret_cast<void**>(&receive), bytes));
    CUDA(cudaMallocHost(reinterpret_cast<void**>(&host), bytes));
  }
  ~Buffers() {
    CUDA(cudaFree(send));
    NCCL(ncclMemFree(receive));
    CUDA(cudaFreeHost(host));
  }
  std::size_t bytes;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  std::byte* host = nullptr;
};

template <typename T>
void checkType(const Rank& rank, Buffers& buffers, ncclDataType_t type, std::size_t count) {
  const auto n = static_cast<std::size_t>(rank.ranks), me = static_cast<std::size_t>(rank.rank);
  T* const host = reinterpret_cast<T*>(buffers.host);
  for (std::size_t i = 0; i < count * n; ++i) host[i] = static_cast<T>(valueOf(rank.rank, i));
  CUDA(cudaMemcpyAsync(buffers.send, host, count * n * sizeof(T), cudaMemcpyHostToDevice, rank.stream));
  const auto sum = [&](std::size_t i) {
    double all = 0;
    for (int r = 0; r < rank.ranks; ++r) all += valueOf(r, i);
    return all;
  };
  const auto run = [&](const char* what, std::size_t elements, const std::function<void()>& call,
                       const std::function<double(std::size_t)>& right) {
    CUDA(cudaMemsetAsync(buffers.receive, 0xa5, elements * sizeof(T) + 1, rank.stream));
    call();
    CUDA(cudaMemcpyAsync(host, buffers.receive, elements * sizeof(T) + 1, cudaMemcpyDeviceToHost,
                         rank.stream));
    rank.await();
    expect<T>(rank, what, std::vector<T>(host, host + elements), right);
    if (reinterpret_cast<unsigned char&>(host[elements]) != 0xa5) {
      std::fprintf(stderr, "%s of %zu elements: rank %d has written beyond its output\n", what, elements,
                   rank.rank);
      std::_Exit(1);
    }
  };
  const void* const send = buffers.send;
  void* const receive = buffers.receive;
  run(
      "AllReduce", count,
      [&] { NCCL(ncclAllReduce(send, receive, count, type, ncclSum, rank.comm, rank.stream)); }, sum);
  run(
      "ReduceScatter", count,
      [&] { NCCL(ncclReduceScatter(send, receive, count, type, ncclSum, rank.comm, rank.stream)); },
      [&](std::size_t i) { return sum(me * count + i); });
  run(
      "AllGather", count * n,
      [&] { NCCL(ncclAllGather(send, receive, count, type, rank.comm, rank.stream)); },
      [&](std::size_t i) { return valueOf(static_cast<int>(i / count), i % count); });
  // With 8 ranks on a GPU large messages have more parts than there are blocks.
  run(
      "all-to-all", count * n,
      [&] {
        const std::size_t block = count * sizeof(T);
        NCCL(ncclGroupStart());
        for (int peer = 0; peer < rank.ranks; ++peer) {
          const auto at = static_cast<std::size_t>(peer) * block;
          NCCL(ncclSend(buffers.send + at, count, type, peer, rank.comm, rank.stream));
          NCCL(ncclRecv(buffers.receive + at, count, type, peer, rank.comm, rank.stream));
        }
        NCCL(ncclGroupEnd());
      },
      [&](std::size_t i) { return valueOf(static_cast<int>(i / count), me * count + i % count); });
  run(
      "Broadcast", count,
      [&] { NCCL(ncclBroadcast(send, receive, count, type, rank.ranks - 1, rank.comm, rank.stream)); },
      [&](std::size_t i) { return valueOf(rank.ranks - 1, i); });
  const int next = (rank.rank + 1) % rank.ranks, before = (rank.rank + rank.ranks - 1) % rank.ranks;
  run(
      "Recv", count,
      [&] {
        NCCL(ncclGroupStart());
        NCCL(ncclSend(send, count, type, next, rank.comm, rank.stream));
        NCCL(ncclRecv(receive, count, type, before, rank.comm, rank.stream));
        NCCL(ncclGroupEnd());
      },
      [&](std::size_t i) { return valueOf(before, i); });
}

// Each replay multiplies the values by the square of the number of ranks.
inline void checkGraph(const Rank& rank, Buffers& buffers) {
  constexpr std::size_t kCount = 100000;
  constexpr int kReplays = 3;
  float* const host = reinterpret_cast<float*>(buffers.host);
  for (std::size_t i = 0; i < kCount; ++i) host[i] = 1.0f;
  CUDA(cudaMemcpyAsync(buffers.send, host, kCount * sizeof(float), cudaMemcpyHostToDevice, rank.stream));
  const cudaGraphExec_t graph = graphOf(rank, [&] {
    NCCL(ncclAllReduce(buffers.send, buffers.receive, kCount, ncclFloat, ncclSum, rank.comm, rank.stream));
    NCCL(ncclAllReduce(buffers.receive, buffers.send, kCount, ncclFloat, ncclSum, rank.comm, rank.stream));
  });
  double expected = 1;
  for (int replay = 0; replay < kReplays; ++replay) {
    CUDA(cudaGraphLaunch(graph, rank.stream));
    expected *= rank.ranks * rank.ranks;
  }
  CUDA(cudaMemcpyAsync(host, buffers.send, kCount * sizeof(float), cudaMemcpyDeviceToHost, rank.stream));
  rank.await();
  expect<float>(rank, "a graph of AllReduces", std::vector<float>(host, host + kCount),
                [&](std::size_t) { return expected; });
  rank.meet();
  CUDA(cudaGraphExecDestroy(graph));
}

// The instance of a graph gets the buffers of another capture.
inline void checkGraphUpdate(const Rank& rank, Buffers& buffers) {
  constexpr std::size_t kCount = 50000;
  constexpr int kSteps = 4;
  float* const host = reinterpret_cast<float*>(buffers.host);
  float* const in = reinterpret_cast<float*>(buffers.send);
  float* const out = reinterpret_cast<float*>(buffers.receive);
  for (std::size_t i = 0; i < kSteps * kCount; ++i) host[i] = static_cast<float>(1 + i / kCount);
  CUDA(cudaMemcpyAsync(in, host, kSteps * kCount * sizeof(float), cudaMemcpyHostToDevice, rank.stream));
  cudaGraphExec_t instance = nullptr;
  for (std::size_t step = 0; step < kSteps; ++step) {
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
    NCCL(ncclAllReduce(in + step * kCount, out + step * kCount, kCount, ncclFloat, ncclSum, rank.comm,
                       rank.stream));
    CUDA(cudaStreamEndCapture(rank.stream, &graph));
    cudaGraphExecUpdateResultInfo info{};
    if (instance == nullptr)
      CUDA(cudaGraphInstantiate(&instance, graph, 0));
    else
      CUDA(cudaGraphExecUpdate(instance, graph, &info));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphLaunch(instance, rank.stream));
  }
  CUDA(cudaMemcpyAsync(host, out, kSteps * kCount * sizeof(float), cudaMemcpyDeviceToHost, rank.stream));
  rank.await();
  expect<float>(rank, "a graph with other buffers", std::vector<float>(host, host + kSteps * kCount),
                [&](std::size_t i) { return rank.ranks * static_cast<double>(1 + i / kCount); });
  rank.meet();
  CUDA(cudaGraphExecDestroy(instance));
}

// Calls on several streams come one after the other, without events of the program: each multiplies the values by the number of ranks.
inline void checkStreams(const Rank& rank, Buffers& buffers) {
  constexpr std::size_t kCount = 300000;
  float* const host = reinterpret_cast<float*>(buffers.host);
  for (std::size_t i = 0; i < kCount; ++i) host[i] = 1.0f;
  CUDA(cudaMemcpyAsync(buffers.send, host, kCount * sizeof(float), cudaMemcpyHostToDevice, rank.stream));
  cudaStream_t second = nullptr;
  CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  const auto sum = [&](const void* from, void* to, cudaStream_t stream) {
    NCCL(ncclAllReduce(from, to, kCount, ncclFloat, ncclSum, rank.comm, stream));
  };
  double expected = 1;
  for (int round = 0; round < 3; ++round) {
    sum(buffers.send, buffers.receive, rank.stream);
    sum(buffers.receive, buffers.send, second);
    sum(buffers.send, buffers.receive, cudaStreamPerThread);
    // A group over two streams begins after both.
    NCCL(ncclGroupStart());
    sum(buffers.receive, buffers.send, second);
    NCCL(ncclAllReduce(buffers.send + sizeof(float) * kCount, buffers.receive + sizeof(float) * kCount, 1,
                       ncclFloat, ncclSum, rank.comm, rank.stream));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 4; ++i) expected *= rank.ranks;
  }
  // The stream of the group's second call waits for its kernel, too.
  CUDA(cudaMemcpyAsync(host, buffers.send, kCount * sizeof(float), cudaMemcpyDeviceToHost, rank.stream));
  rank.await();
  expect<float>(rank, "AllReduces in several streams", std::vector<float>(host, host + kCount),
                [&](std::size_t) { return expected; });
  CUDA(cudaStreamSynchronize(second));
  rank.meet();
  CUDA(cudaStreamDestroy(second));
}

// A part of the ranks, by a communicator that does not block.
inline void checkSplit(const Rank& rank, Buffers& buffers) {
  const auto await = [&](ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) NCCL(ncclCommGetAsyncError(comm, &state));
    REQUIRE(state, ncclSuccess, ncclGetLastError(comm));
  };
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t part = nullptr;
  const ncclResult_t split = ncclCommSplit(rank.comm, rank.rank % 2, rank.rank, &part, &config);
  if (split != ncclInProgress) NCCL(split);
  await(part);
  int ranks = 0;
  NCCL(ncclCommCount(part, &ranks));
  const int next = ranks == 1 ? 0 : (rank.rank / 2 + 1) % ranks, before = (rank.rank / 2 + ranks - 1) % ranks;
  int* const host = reinterpret_cast<int*>(buffers.host);
  int* const data = reinterpret_cast<int*>(buffers.send);
  host[0] = rank.rank;
  CUDA(cudaMemcpyAsync(data, host, sizeof(int), cudaMemcpyHostToDevice, rank.stream));
  NCCL(ncclGroupStart());
  ncclSend(data, 1, ncclInt32, next, part, rank.stream);
  ncclRecv(data + 1, 1, ncclInt32, before, part, rank.stream);
  const ncclResult_t sent = ncclGroupEnd();
  if (sent != ncclInProgress) NCCL(sent);
  await(part);
  CUDA(cudaMemcpyAsync(host, data + 1, sizeof(int), cudaMemcpyDeviceToHost, rank.stream));
  rank.await();
  expect<int>(rank, "a message in a part of the ranks", std::vector<int>(host, host + 1),
              [&](std::size_t) { return 2 * before + rank.rank % 2; });
  const ncclResult_t finalized = ncclCommFinalize(part);
  if (finalized != ncclInProgress) NCCL(finalized);
  await(part);
  rank.meet();
  NCCL(ncclCommDestroy(part));
}

// The sum of the ranks' values, each times the rank's own scalar, which the call has, or the GPU reads when the kernel runs.
inline void checkOperator(const Rank& rank, Buffers& buffers, ncclScalarResidence_t where) {
  constexpr std::size_t kCount = 5000;
  float* const host = reinterpret_cast<float*>(buffers.host);
  for (std::size_t i = 0; i < kCount; ++i) host[i] = static_cast<float>(valueOf(rank.rank, i));
  CUDA(cudaMemcpyAsync(buffers.send, host, kCount * sizeof(float), cudaMemcpyHostToDevice, rank.stream));
  float scalar = static_cast<float>(rank.rank + 2);
  void* from = &scalar;
  if (where == ncclScalarDevice) {
    from = buffers.send + sizeof(float) * kCount;
    host[kCount] = scalar;
    CUDA(cudaMemcpyAsync(from, host + kCount, sizeof scalar, cudaMemcpyHostToDevice, rank.stream));
  }
  ncclRedOp_t scaled;
  NCCL(ncclRedOpCreatePreMulSum(&scaled, from, ncclFloat, where, rank.comm));
  NCCL(ncclAllReduce(buffers.send, buffers.receive, kCount, ncclFloat, scaled, rank.comm, rank.stream));
  NCCL(ncclRedOpDestroy(scaled, rank.comm));
  CUDA(cudaMemcpyAsync(host, buffers.receive, kCount * sizeof(float), cudaMemcpyDeviceToHost, rank.stream));
  rank.await();
  expect<float>(rank, "AllReduce with an operator", std::vector<float>(host, host + kCount),
                [&](std::size_t i) {
                  double all = 0;
                  for (int r = 0; r < rank.ranks; ++r) all += (r + 2) * valueOf(r, i);
                  return all;
                });
}

// The last rank does not come. The others' kernels end, by a time-out that names it, or as the program aborts the communicator.
inline void checkLostRank(Rank& rank, bool aborts) {
  constexpr std::chrono::seconds kLimit(30);
  auto* const data = deviceMemory<float>(1 << 20);
  CUDA(cudaMemsetAsync(data, 0, sizeof(float) << 20, rank.stream));
  rank.await();
  rank.meet();
  if (rank.rank != rank.ranks - 1) {
    NCCL(ncclAllReduce(data, data, 1 << 20, ncclFloat, ncclSum, rank.comm, rank.stream));
    const auto end = std::chrono::steady_clock::now() + kLimit;
    if (aborts) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      NCCL(ncclCommAbort(rank.comm));
      rank.comm = nullptr;
    }
    while (cudaStreamQuery(rank.stream) == cudaErrorNotReady)
      if (std::chrono::steady_clock::now() > end) {
        std::fprintf(stderr, "rank %d: the kernel has not ended\n", rank.rank);
        std::_Exit(1);
      }
    rank.await();
    ncclResult_t state = ncclSuccess;
    if (!aborts) NCCL(ncclCommGetAsyncError(rank.comm, &state));
    if (!aborts && state == ncclSuccess) {
      std::fprintf(stderr, "rank %d: there is no error\n", rank.rank);
      std::_Exit(1);
    }
    if (!aborts && rank.rank == 0) std::printf("rank 0 says: %s\n", ncclGetLastError(rank.comm));
  }
  rank.meet();
  if (rank.comm != nullptr) NCCL(ncclCommAbort(rank.comm));
  rank.comm = nullptr;
  CUDA(cudaFree(data));
}

inline void check(Rank& rank) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  Buffers buffers((kMost + 1) * static_cast<std::size_t>(rank.ranks) * sizeof(double));
  rank.meet();
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{3}, std::size_t{31}, std::size_t{1000}, std::size_t{65537}, kMost}) {
    checkType<float>(rank, buffers, ncclFloat, count);
    checkType<std::int32_t>(rank, buffers, ncclInt32, count);
    checkType<double>(rank, buffers, ncclDouble, count);
    checkType<std::uint8_t>(rank, buffers, ncclUint8, count);
  }
  checkOperator(rank, buffers, ncclScalarHostImmediate);
  checkOperator(rank, buffers, ncclScalarDevice);
  checkGraph(rank, buffers);
  checkGraphUpdate(rank, buffers);
  checkStreams(rank, buffers);
  checkSplit(rank, buffers);
  rank.meet();
}

// One thread launches for all ranks, more launches than the library has memory for in advance, and with more operations in one of them.
inline void checkOneThread(int ranks) {
  constexpr int kCalls = 100, kInGroup = 150;
  constexpr std::size_t kCount = 1000;
  std::vector<int> devices;
  int gpus = 0;
  CUDA(cudaGetDeviceCount(&gpus));
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % gpus);
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  std::vector<ncclComm_t> comms(all.size());
  std::vector<float*> data;
  NCCL(ncclCommInitAll(comms.data(), ranks, devices.data()));
  std::vector<float> host(kCount, 1.0f);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    CUDA(cudaSetDevice(devices[r]));
    all[r] = {rank, ranks, comms[r], nullptr, nullptr};
    CUDA(cudaStreamCreateWithFlags(&all[r].stream, cudaStreamNonBlocking));
    data.push_back(deviceMemory<float>(kCount));
    CUDA(cudaMemcpy(data[r], host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  }
  const auto average = [&](int times) {
    NCCL(ncclGroupStart());
    for (std::size_t r = 0; r < all.size(); ++r)
      for (int i = 0; i < times; ++i)
        NCCL(ncclAllReduce(data[r], data[r], kCount, ncclFloat, ncclAvg, comms[r], all[r].stream));
    NCCL(ncclGroupEnd());
  };
  for (int call = 0; call < kCalls; ++call) average(1);
  average(kInGroup);
  for (std::size_t r = 0; r < all.size(); ++r) {
    CUDA(cudaSetDevice(devices[r]));
    all[r].await();
    CUDA(cudaMemcpy(host.data(), data[r], kCount * sizeof(float), cudaMemcpyDeviceToHost));
    expect<float>(all[r], "AllReduce of one thread", host, [](std::size_t) { return 1.0; });
  }
  NCCL(ncclGroupStart());
  for (const ncclComm_t comm : comms) NCCL(ncclCommDestroy(comm));
  NCCL(ncclGroupEnd());
  for (float* const values : data) CUDA(cudaFree(values));
}

// ---- The same bytes as host devices -------------------------------------------------------------------

struct TypeRow {
  ncclDataType_t type;
  const char* name;
  std::size_t bytes;
  // Bits of the highest byte to keep: no value is an infinity, not a number, or larger than 2.
  unsigned char keep;
};
constexpr TypeRow kTypes[] = {{ncclInt8, "int8", 1, 0xff},
                              {ncclUint8, "uint8", 1, 0xff},
                              {ncclInt32, "int32", 4, 0xff},
                              {ncclUint32, "uint32", 4, 0xff},
                              {ncclInt64, "int64", 8, 0xff},
                              {ncclUint64, "uint64", 8, 0xff},
                              {ncclFloat16, "float16", 2, 0xbf},
                              {ncclFloat32, "float32", 4, 0xbf},
                              {ncclFloat64, "float64", 8, 0xbf},
                              {ncclBfloat16, "bfloat16", 2, 0xbf},
                              {ncclFloat8e4m3, "float8e4m3", 1, 0xbf},
                              {ncclFloat8e5m2, "float8e5m2", 1, 0xbf}};
struct OperationRow {
  ncclRedOp_t op;
  const char* name;
};
constexpr OperationRow kOperations[] = {
    {ncclSum, "sum"}, {ncclProd, "prod"}, {ncclMax, "max"}, {ncclMin, "min"}, {ncclAvg, "avg"}};

// More than a rank's part of a case has.
constexpr std::size_t kResultElements = 20100;

// Prints a line for each case with a hash of what all ranks have afterwards. `await` waits for the rank's stream; the
// buffers are memory that the device reaches.
inline void printResults(const Rank& rank, std::byte* send, std::byte* receive,
                         const std::function<void()>& await) {
  const auto n = static_cast<std::size_t>(rank.ranks);
  const auto runCase = [&](const std::string& name, const TypeRow& type, std::size_t elements,
                           std::size_t shift, const std::function<void(std::byte*, std::byte*)>& call) {
    std::byte* const from = send + shift * type.bytes;
    std::byte* const to = receive + shift * type.bytes;
    const std::size_t bytes = elements * type.bytes;
    std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(rank.rank + 1) + bytes;
    for (std::size_t i = 0; i < bytes; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      from[i] = static_cast<std::byte>(state >> 56);
      if (i % type.bytes == type.bytes - 1) from[i] &= static_cast<std::byte>(type.keep);
    }
    std::memset(to, 0xa5, bytes + 16);
    rank.meet();
    call(from, to);
    await();
    std::uint64_t hash = 14695981039346656037u;
    for (std::size_t i = 0; i < bytes + 16; ++i)
      hash = (hash ^ static_cast<std::uint64_t>(to[i])) * 1099511628211u;
    rank.shared->words[rank.rank] = hash;
    rank.meet();
    if (rank.rank != 0) return;
    std::printf("%s %s %zu", name.c_str(), type.name, elements);
    for (int r = 0; r < rank.ranks; ++r)
      std::printf(" %016llx", static_cast<unsigned long long>(rank.shared->words[r]));
    std::printf("\n");
  };
  for (const TypeRow& type : kTypes)
    for (const std::size_t count : {std::size_t{1}, std::size_t{129}, std::size_t{20011}}) {
      const std::size_t shift = count % 2;
      for (const OperationRow& operation : kOperations) {
        runCase(std::string("AllReduce ") + operation.name, type, count, shift,
                [&](std::byte* from, std::byte* to) {
                  NCCL(ncclAllReduce(from, to, count, type.type, operation.op, rank.comm, rank.stream));
                });
        runCase(std::string("ReduceScatter ") + operation.name, type, count * n, 0,
                [&](std::byte* from, std::byte* to) {
                  NCCL(ncclReduceScatter(from, to, count, type.type, operation.op, rank.comm, rank.stream));
                });
        runCase(std::string("Reduce ") + operation.name, type, count, 0, [&](std::byte* from, std::byte* to) {
          NCCL(ncclReduce(from, to, count, type.type, operation.op, 0, rank.comm, rank.stream));
        });
      }
      runCase("AllGather", type, count * n, 0, [&](std::byte* from, std::byte* to) {
        NCCL(ncclAllGather(from, to, count, type.type, rank.comm, rank.stream));
      });
      runCase("Broadcast", type, count, shift, [&](std::byte* from, std::byte* to) {
        NCCL(ncclBroadcast(from, to, count, type.type, 0, rank.comm, rank.stream));
      });
    }
}

// On GPUs, in pinned memory of the host.
inline void printGpuResults(Rank& rank) {
  const std::size_t bytes = kResultElements * 8 * static_cast<std::size_t>(rank.ranks);
  std::byte *send = nullptr, *receive = nullptr;
  CUDA(cudaMallocHost(reinterpret_cast<void**>(&send), bytes));
  CUDA(cudaMallocHost(reinterpret_cast<void**>(&receive), bytes));
  rank.meet();
  printResults(rank, send, receive, [&] { rank.await(); });
  rank.meet();
  CUDA(cudaFreeHost(send));
  CUDA(cudaFreeHost(receive));
}

// A function of Xylem's runtime for host devices, of which NVIDIA's runtime in this program knows nothing.
template <typename Function>
Function* hostRuntime(const char* name) {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "results on host devices need Xylem's libnccl.so.2: it has no %s\n", name);
    std::_Exit(1);
  }
  return reinterpret_cast<Function*>(function);
}

// On host devices, one for each rank.
inline void printHostResults(int ranks) {
  setenv("XYLEM_DEVICE", "host", 1);
  auto* const setDevice = hostRuntime<int(int)>("cudaSetDevice");
  auto* const synchronize = hostRuntime<int(void*)>("cudaStreamSynchronize");
  Shared shared{};
  pthread_barrier_init(&shared.barrier, nullptr, static_cast<unsigned>(ranks));
  NCCL(ncclGetUniqueId(&shared.id));
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks; ++number)
    threads.emplace_back([&, number] {
      Rank rank{number, ranks, nullptr, nullptr, &shared};
      REQUIRE(setDevice(number), 0, "there are fewer host devices; XYLEM_HOST_DEVICES sets their number");
      NCCL(ncclCommInitRank(&rank.comm, ranks, shared.id, number));
      const std::size_t bytes = kResultElements * 8 * static_cast<std::size_t>(ranks);
      std::vector<std::byte> send(bytes), receive(bytes);
      printResults(rank, send.data(), receive.data(), [&] {
        if (synchronize(nullptr) != 0) std::_Exit(1);
      });
      rank.meet();
      NCCL(ncclCommDestroy(rank.comm));
    });
  for (std::thread& thread : threads) thread.join();
}
