// Ranks of Xylem: one process with some of the job's ranks as threads. Only bench_compare runs it.
//
// Every iteration is the call and cudaStreamSynchronize, as a call of MPI returns with its result.

#include <cstdio>
#include <cstring>
#include <thread>

#include "comparison/rank_loop.h"
#include "comparison/rank_options.h"
#include "nccl.h"

namespace xylem::bench {
namespace {

void require(ncclResult_t result, ncclComm_t comm, const char* what) {
  if (result != ncclSuccess)
    throw Error(static_cast<ResultCode>(result), "{}: {}: {}", what, ncclGetErrorString(result),
                ncclGetLastError(comm));
}

void require(cudaError_t result, ncclComm_t comm, const char* what) {
  if (result != cudaSuccess)
    throw Error(ResultCode::kUnhandledCudaError, "{}: {}: {}", what, cudaGetErrorString(result),
                ncclGetLastError(comm));
}

struct Options : RankOptions {
  int first = 0, count = 1, ranks = 1, firstDevice = 0;
  bool ncclMemory = false;
};

class XylemEngine : public Engine {
 public:
  XylemEngine(const Options& options, int rank) : options_(options), rank_(rank) {}
  ~XylemEngine() override {
    if (shared_ != nullptr) cudaFree(shared_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    if (comm_ != nullptr) ncclCommDestroy(comm_);
  }
  XylemEngine(const XylemEngine&) = delete;
  XylemEngine& operator=(const XylemEngine&) = delete;

  int rank() const override { return rank_; }
  int ranks() const override { return options_.ranks; }

  std::array<char, kIdBytes> newId() override {
    ncclUniqueId id;
    require(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
    std::array<char, kIdBytes> bytes;
    static_assert(sizeof id.internal == kIdBytes);
    std::memcpy(bytes.data(), id.internal, kIdBytes);
    return bytes;
  }

  void join(const std::array<char, kIdBytes>& bytes) override {
    pinTo(options_.coresOf(rank_));
    ncclUniqueId id;
    std::memcpy(id.internal, bytes.data(), kIdBytes);
    require(cudaSetDevice(options_.firstDevice + rank_ - options_.first), nullptr, "cudaSetDevice");
    require(ncclCommInitRank(&comm_, options_.ranks, id, rank_), nullptr, "ncclCommInitRank");
    require(cudaStreamCreate(&stream_), nullptr, "cudaStreamCreate");
    void* memory = nullptr;
    require(cudaMalloc(&memory, sizeof(float)), nullptr, "cudaMalloc");
    shared_ = static_cast<float*>(memory);
    *shared_ = 0;
  }

  void* allocate(std::size_t bytes) override {
    if (!options_.ncclMemory) return Engine::allocate(bytes);
    void* memory = nullptr;
    require(ncclMemAlloc(&memory, bytes), nullptr, "ncclMemAlloc");
    return memory;
  }
  void release(void* memory) override {
    if (options_.ncclMemory)
      ncclMemFree(memory);
    else
      Engine::release(memory);
  }

  void barrier() override {
    require(ncclAllReduce(shared_, shared_, 1, ncclFloat, ncclSum, comm_, stream_), comm_, "ncclAllReduce");
    synchronize();
  }

  void repeat(const Case& c, const float* in, float* out, std::uint32_t times, bool pipelined) override {
    for (std::uint32_t i = 0; i < times; ++i) {
      issue(c, in, out);
      if (!pipelined) synchronize();
    }
    if (pipelined) synchronize();
  }

 private:
  void synchronize() { require(cudaStreamSynchronize(stream_), comm_, "cudaStreamSynchronize"); }

  void issue(const Case& c, const float* in, float* out) {
    const std::size_t count = c.count();
    switch (c.operation) {
      case Operation::kAllReduce:
        return require(ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm_, stream_), comm_,
                       "ncclAllReduce");
      case Operation::kAllGather:
        return require(ncclAllGather(in, out, count, ncclFloat, comm_, stream_), comm_, "ncclAllGather");
      case Operation::kReduceScatter:
        return require(ncclReduceScatter(in, out, count, ncclFloat, ncclSum, comm_, stream_), comm_,
                       "ncclReduceScatter");
      case Operation::kBroadcast:  // in place on the root, as MPI_Bcast
        return require(ncclBroadcast(in, rank_ == kRoot ? const_cast<float*>(in) : out, count, ncclFloat,
                                     kRoot, comm_, stream_),
                       comm_, "ncclBroadcast");
      case Operation::kReduce:
        return require(ncclReduce(in, out, count, ncclFloat, ncclSum, kRoot, comm_, stream_), comm_,
                       "ncclReduce");
      case Operation::kAllToAll:
        return require(ncclAlltoAll(in, out, count, ncclFloat, comm_, stream_), comm_, "ncclAlltoAll");
      case Operation::kSendReceive:
        require(ncclGroupStart(), comm_, "ncclGroupStart");
        require(ncclSend(in, count, ncclFloat, (rank_ + 1) % c.ranks, comm_, stream_), comm_, "ncclSend");
        require(ncclRecv(out, count, ncclFloat, (rank_ + c.ranks - 1) % c.ranks, comm_, stream_), comm_,
                "ncclRecv");
        return require(ncclGroupEnd(), comm_, "ncclGroupEnd");
      case Operation::kSend:
        if (const int partner = partnerOf(c, rank_); partner < 0)
          return;
        else if (rank_ % 2 == 0)
          return require(ncclSend(in, count, ncclFloat, partner, comm_, stream_), comm_, "ncclSend");
        else
          return require(ncclRecv(out, count, ncclFloat, partner, comm_, stream_), comm_, "ncclRecv");
    }
  }

  const Options& options_;
  const int rank_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  float* shared_ = nullptr;  // one element, for barriers
};

void runRank(const Options& options, int rank) {
  try {
    XylemEngine engine(options, rank);
    serve(engine, ControlSocket::connect(options.socket));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    std::_Exit(1);
  }
}

int run(int argc, char** argv) {
  Options options;
  RankArguments arguments("ranks of bench_compare", options);
  arguments.add("--first", options.first, "the first rank of this process");
  arguments.add("--count", options.count, "how many of them, a thread each");
  arguments.add("--ranks", options.ranks, "of the job");
  arguments.add("--first-device", options.firstDevice, "the device of the first rank");
  arguments.add("--nccl-memory", options.ncclMemory, "buffers from ncclMemAlloc");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  std::vector<std::thread> threads;
  for (int i = 1; i < options.count; ++i)
    threads.emplace_back([&, i] { runRank(options, options.first + i); });
  runRank(options, options.first);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace xylem::bench

int main(int argc, char** argv) {
  xylem::bench::endWithParent();
  return xylem::bench::run(argc, argv);
}
