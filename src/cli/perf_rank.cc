#include "cli/perf_rank.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/command.h"
#include "cli/perf_data.h"
#include "core/error.h"
#include "nccl.h"

namespace xylem::cli {
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

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;

DeviceMemory allocate(std::size_t bytes) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, bytes), nullptr, "cudaMalloc");
  return DeviceMemory(memory);
}

struct DestroyComm {
  void operator()(ncclComm_t comm) const { ncclCommDestroy(comm); }
};
struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};

class PerfRank {
 public:
  PerfRank(const PerfOptions& options, int rank, int socket)
      : options_(options), rank_(rank), socket_(socket) {}

  void run() {
    join();
    const std::size_t bytes = options_.maxBytes;
    send_ = allocate(bytes);
    receive_ = allocate(bytes);
    const std::vector<PerfCase> cases = casesOf(options_);
    for (std::size_t i = 0; i < cases.size(); ++i) measure(cases[i], i);
  }

 private:
  void join() {
    PerfMessage message;
    ncclUniqueId id;
    if (rank_ == 0) {
      require(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
      message.kind = PerfMessage::kId;
      std::memcpy(message.text, id.internal, sizeof id.internal);
      sendPerf(socket_, message);
    } else {
      if (!receivePerf(socket_, message))
        throw Error(ResultCode::kSystemError, "there is no id to join with");
      std::memcpy(id.internal, message.text, sizeof id.internal);
    }
    // A device for each rank, unless somebody wants to see what sharing does.
    setenv("XYLEM_HOST_DEVICES", std::to_string(options_.ranks).c_str(), 0);
    int devices = 1;
    require(cudaGetDeviceCount(&devices), nullptr, "cudaGetDeviceCount");
    require(cudaSetDevice(rank_ % devices), nullptr, "cudaSetDevice");
    ncclComm_t comm = nullptr;
    require(ncclCommInitRank(&comm, options_.ranks, id, rank_), nullptr, "ncclCommInitRank");
    comm_.reset(comm);
    cudaStream_t stream = nullptr;
    require(cudaStreamCreate(&stream), nullptr, "cudaStreamCreate");
    stream_.reset(stream);

    PerfMessage hello;
    hello.kind = PerfMessage::kHello;
    hello.pid = getpid();
    hello.device = rank_ % devices;
    gethostname(hello.text, sizeof hello.text - 1);
    sendPerf(socket_, hello);
  }

  void enqueue(const PerfCase& c, bool inPlace) {
    require(ncclAllReduce(inPlace ? receive_.get() : send_.get(), receive_.get(), c.count,
                          static_cast<ncclDataType_t>(c.type), static_cast<ncclRedOp_t>(c.op), comm_.get(),
                          stream_.get()),
            comm_.get(), "ncclAllReduce");
  }
  void synchronize() { require(cudaStreamSynchronize(stream_.get()), comm_.get(), "ncclAllReduce"); }

  PerfMessage::Timing measure(const PerfCase& c, const PerfData* data, bool inPlace) {
    using Clock = std::chrono::steady_clock;
    PerfMessage::Timing timing;
    for (int i = 0; i < options_.warmup; ++i) enqueue(c, inPlace);
    // A barrier, so that all start together.
    enqueue({DataType::kUint8, ReduceOp::kSum, 1}, true);
    synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < options_.iterations; ++i) enqueue(c, inPlace);
    synchronize();
    const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    timing.microseconds = taken.count() / options_.iterations;
    if (data != nullptr) {
      data->fill(inPlace ? receive_.get() : send_.get(), c.count, rank_);
      if (!inPlace) std::memset(receive_.get(), 0xa5, c.bytes());
      enqueue(c, inPlace);
      synchronize();
      timing.wrong = data->countWrong(receive_.get(), c.count);
    }
    return timing;
  }

  void measure(const PerfCase& c, std::size_t index) {
    if (options_.check && (!data_ || dataType_ != c.type || dataOp_ != c.op)) {
      data_ = std::make_unique<PerfData>(c.type, c.op, options_.ranks);
      dataType_ = c.type;
      dataOp_ = c.op;
    }
    // Repeated operations run on whatever is there: small numbers, so that nothing slow like subnormals turns
    // up.
    std::memset(send_.get(), 0, c.bytes());
    std::memset(receive_.get(), 0, c.bytes());
    PerfMessage result;
    result.kind = PerfMessage::kResult;
    result.caseIndex = static_cast<std::uint32_t>(index);
    result.outOfPlace = measure(c, data_.get(), false);
    std::memset(receive_.get(), 0, c.bytes());
    result.inPlace = measure(c, data_.get(), true);
    sendPerf(socket_, result);
  }

  const PerfOptions& options_;
  const int rank_;
  const int socket_;
  std::unique_ptr<ncclComm, DestroyComm> comm_;
  std::unique_ptr<CUstream_st, DestroyStream> stream_;
  DeviceMemory send_;
  DeviceMemory receive_;
  std::unique_ptr<PerfData> data_;
  DataType dataType_ = DataType::kFloat32;
  ReduceOp dataOp_ = ReduceOp::kSum;
};

}  // namespace

bool sendPerf(int socket, const PerfMessage& message) {
  ssize_t sent = -1;
  do {
    sent = send(socket, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}

bool receivePerf(int socket, PerfMessage& message) {
  ssize_t received = -1;
  do {
    received = recv(socket, &message, sizeof message, 0);
  } while (received < 0 && errno == EINTR);
  return received == static_cast<ssize_t>(sizeof message);
}

int runPerfRank(const PerfOptions& options, int rank, int socket) {
  PerfMessage last;
  last.kind = PerfMessage::kDone;
  try {
    PerfRank(options, rank, socket).run();
  } catch (const std::exception& error) {
    last.kind = PerfMessage::kFailure;
    std::strncpy(last.text, error.what(), sizeof last.text - 1);
  }
  sendPerf(socket, last);
  return last.kind == PerfMessage::kDone ? kOk : kFailed;
}

}  // namespace xylem::cli
