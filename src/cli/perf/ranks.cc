#include "cli/perf/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cli/perf/test_data.h"
#include "core/error.h"
#include "core/host_name.h"

namespace xylem::cli {
namespace {

// Fills the place of a result before an operation.
constexpr int kStaleByte = 0xa5;
constexpr std::size_t kPageBytes = 4096;

}  // namespace

PerfMessage PerfMessage::of(Kind kind, int rank) {
  PerfMessage message;
  message.kind = kind;
  message.rank = rank;
  message.pid = getpid();
  return message;
}

void PerfMessage::setText(std::string_view words) {
  std::memset(text, 0, sizeof text);
  std::memcpy(text, words.data(), std::min(words.size(), sizeof text - 1));
}

void require(ncclResult_t result, ncclComm_t comm, const char* what) {
  if (result != ncclSuccess)
    throw Error(static_cast<ResultCode>(result), "{}: {}: {}", what, ncclGetErrorString(result),
                ncclGetLastError(comm));
}

void require(cudaError_t result, ncclComm_t comm, const char* what) {
  if (result == cudaSuccess) return;
  if (result == cudaErrorMemoryAllocation)
    throw Error(ResultCode::kUnhandledCudaError, "{}: {}", what, outOfMemoryText());
  throw Error(ResultCode::kUnhandledCudaError, "{}: {}: {}", what, cudaGetErrorString(result),
              ncclGetLastError(comm));
}

PerfRank::~PerfRank() {
  if (comm_.handle == nullptr) return;
  graph_.reset();
  dropOperator();
  if (options_.registers) {
    ncclCommDeregister(comm_.handle, sendHandle_);
    ncclCommDeregister(comm_.handle, receiveHandle_);
  }
}

void PerfRank::join(const ncclUniqueId& id) {
  require(cudaSetDevice(device_), nullptr, "cudaSetDevice");
  require(ncclCommInitRank(&comm_.handle, options_.ranks(), id, rank_), nullptr, "ncclCommInitRank");
}

PerfRank::Memory PerfRank::allocate(PerfMemory kind, std::size_t bytes) const {
  void* memory = nullptr;
  switch (kind) {
    case PerfMemory::kMalloc:
      memory = std::aligned_alloc(kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
      if (memory == nullptr) throw Error(ResultCode::kSystemError, "there are no {} bytes of memory", bytes);
      return {memory, [](void* old) { std::free(old); }};
    case PerfMemory::kCuda:
      require(cudaMalloc(&memory, bytes), nullptr, "cudaMalloc");
      return {memory, [](void* old) { cudaFree(old); }};
    case PerfMemory::kNccl:
      require(ncclMemAlloc(&memory, bytes), nullptr, "ncclMemAlloc");
      return {memory, [](void* old) { ncclMemFree(old); }};
  }
  return {};
}

void* PerfRank::registered(const Memory& memory) const {
  void* handle = nullptr;
  if (options_.registers)
    require(ncclCommRegister(comm_.handle, memory.get(), options_.maxBytes, &handle), comm_.handle,
            "ncclCommRegister");
  return handle;
}

void PerfRank::prepare(std::size_t sharedBytes) {
  require(cudaSetDevice(device_), nullptr, "cudaSetDevice");
  cudaStream_t stream = nullptr;
  require(cudaStreamCreate(&stream), nullptr, "cudaStreamCreate");
  stream_.reset(stream);
  shared_ = allocate(PerfMemory::kCuda, sharedBytes);
  std::memset(shared_.get(), 0, sharedBytes);
  send_ = allocate(options_.memory, options_.maxBytes);
  receive_ = allocate(options_.memory, options_.maxBytes);
  sendHandle_ = registered(send_);
  receiveHandle_ = registered(receive_);
}

void PerfRank::dropOperator() {
  if (ownOperator_) ncclRedOpDestroy(operator_, comm_.handle);
  ownOperator_ = false;
}

void PerfRank::makeOperator(const PerfCase& c) {
  dropOperator();
  if (c.op != PerfOperator::kMulSum) {
    operator_ = static_cast<ncclRedOp_t>(c.op);
    return;
  }
  const int multiplier = PerfReduction::multiplier(rank_);
  std::uint64_t scalar =
      isFloat(c.type) ? encodeExact(formatOf(c.type), multiplier) : static_cast<std::uint64_t>(multiplier);
  require(ncclRedOpCreatePreMulSum(&operator_, &scalar, static_cast<ncclDataType_t>(c.type),
                                   ncclScalarHostImmediate, comm_.handle),
          comm_.handle, "ncclRedOpCreatePreMulSum");
  ownOperator_ = true;
}

void PerfRank::use(const PerfCase& c) {
  graph_.reset();
  if (c.op != PerfOperator::kNone && (c.type != type_ || c.op != op_)) {
    makeOperator(c);
    if (options_.checks > 0) reduction_.emplace(c.type, c.op, options_.ranks());
  }
  type_ = c.type;
  op_ = c.op;
  std::memset(send_.get(), 0, c.bytes());
  std::memset(receive_.get(), 0, c.bytes());
}

std::byte* PerfRank::sendAt(const PerfCase& c, bool inPlace) const {
  if (!inPlace) return static_cast<std::byte*>(send_.get());
  return static_cast<std::byte*>(receive_.get()) +
         static_cast<std::size_t>(rank_) * c.layout.sendStride * elementBytes(c.type);
}

std::byte* PerfRank::receiveAt(const PerfCase& c, bool inPlace) const {
  auto* start = static_cast<std::byte*>(receive_.get());
  if (!inPlace) return start;
  return start + static_cast<std::size_t>(rank_) * c.layout.receiveStride * elementBytes(c.type);
}

void PerfRank::issue(const PerfCase& c, bool inPlace, int step) {
  if (options_.collective == PerfCollective::kHypercube)
    issueHypercube(c, inPlace, step);
  else if (isPointToPoint(options_.collective))
    issueSendsAndReceives(c, inPlace);
  else
    issueCollective(c, inPlace);
}

void PerfRank::issueCollective(const PerfCase& c, bool inPlace) {
  const std::byte* from = sendAt(c, inPlace);
  std::byte* to = receiveAt(c, inPlace);
  const std::size_t count = c.layout.count;
  const auto type = static_cast<ncclDataType_t>(c.type);
  ncclComm_t comm = comm_.handle;
  cudaStream_t stream = stream_.get();
  switch (options_.collective) {
    case PerfCollective::kAllReduce:
      return require(ncclAllReduce(from, to, count, type, operator_, comm, stream), comm, "ncclAllReduce");
    case PerfCollective::kAllGather:
      return require(ncclAllGather(from, to, count, type, comm, stream), comm, "ncclAllGather");
    case PerfCollective::kReduceScatter:
      return require(ncclReduceScatter(from, to, count, type, operator_, comm, stream), comm,
                     "ncclReduceScatter");
    case PerfCollective::kBroadcast:
      return require(ncclBroadcast(from, to, count, type, c.root, comm, stream), comm, "ncclBroadcast");
    case PerfCollective::kReduce:
      return require(ncclReduce(from, to, count, type, operator_, c.root, comm, stream), comm, "ncclReduce");
    default:
      return;
  }
}

void PerfRank::send(const std::byte* from, std::size_t count, DataType type, int peer) {
  require(ncclSend(from, count, static_cast<ncclDataType_t>(type), peer, comm_.handle, stream_.get()),
          comm_.handle, "ncclSend");
}

void PerfRank::receive(std::byte* to, std::size_t count, DataType type, int peer) {
  require(ncclRecv(to, count, static_cast<ncclDataType_t>(type), peer, comm_.handle, stream_.get()),
          comm_.handle, "ncclRecv");
}

void PerfRank::issueSendsAndReceives(const PerfCase& c, bool inPlace) {
  const std::byte* from = sendAt(c, inPlace);
  std::byte* to = receiveAt(c, inPlace);
  const std::size_t count = c.layout.count;
  const int ranks = options_.ranks();
  const auto block = [&](int peer) { return static_cast<std::size_t>(peer) * count * elementBytes(c.type); };
  if (options_.collective == PerfCollective::kSendRecv) {
    send(from, count, c.type, (rank_ + 1) % ranks);
    return receive(to, count, c.type, (rank_ + ranks - 1) % ranks);
  }
  if (options_.collective == PerfCollective::kGather) send(from, count, c.type, c.root);
  if (options_.collective == PerfCollective::kScatter) receive(to, count, c.type, c.root);
  for (int peer = 0; peer < ranks; ++peer) {
    const bool all = options_.collective == PerfCollective::kAllToAll;
    if (all || (options_.collective == PerfCollective::kScatter && rank_ == c.root))
      send(from + block(peer), count, c.type, peer);
    if (all || (options_.collective == PerfCollective::kGather && rank_ == c.root))
      receive(to + block(peer), count, c.type, peer);
  }
}

// In step s, ranks that differ in bit s of their number exchange all blocks they have: 2^s each.
void PerfRank::issueHypercube(const PerfCase& c, bool inPlace, int step) {
  std::byte* to = receiveAt(c, inPlace);
  const std::size_t count = c.layout.count;
  const auto block = [&](int rank) { return static_cast<std::size_t>(rank) * count * elementBytes(c.type); };
  if (step == 0 && !inPlace)
    require(cudaMemcpyAsync(to + block(rank_), sendAt(c, inPlace), count * elementBytes(c.type),
                            cudaMemcpyDeviceToDevice, stream_.get()),
            comm_.handle, "cudaMemcpyAsync");
  const int distance = 1 << step;
  if (distance >= options_.ranks()) return;  // the job has a single rank
  const int peer = rank_ ^ distance;
  const int first = rank_ & ~(distance - 1);
  send(to + block(first), count << step, c.type, peer);
  receive(to + block(first ^ distance), count << step, c.type, peer);
}

void PerfRank::issueShared(std::size_t bytes) {
  require(ncclAllReduce(shared(), shared(), bytes, ncclUint8, ncclSum, comm_.handle, stream_.get()),
          comm_.handle, "ncclAllReduce");
}

void PerfRank::synchronize() {
  require(cudaStreamSynchronize(stream_.get()), comm_.handle, "cudaStreamSynchronize");
}

void PerfRank::beginCapture() {
  graph_.reset();
  require(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), comm_.handle,
          "cudaStreamBeginCapture");
}

void PerfRank::endCapture() {
  cudaGraph_t graph = nullptr;
  require(cudaStreamEndCapture(stream_.get(), &graph), comm_.handle, "cudaStreamEndCapture");
  cudaGraphExec_t instance = nullptr;
  const cudaError_t result = cudaGraphInstantiate(&instance, graph, 0);
  cudaGraphDestroy(graph);
  require(result, comm_.handle, "cudaGraphInstantiate");
  graph_.reset(instance);
}

void PerfRank::launchGraph() {
  require(cudaGraphLaunch(graph_.get(), stream_.get()), comm_.handle, "cudaGraphLaunch");
}

void PerfRank::fill(const PerfCase& c, bool inPlace) {
  std::memset(receive_.get(), kStaleByte, c.bytes());
  if (reduces(options_.collective))
    reduction_->fill(sendAt(c, inPlace), c.layout.send, rank_);
  else
    fillPattern(sendAt(c, inPlace), c.layout.send, elementBytes(c.type), rank_);
}

std::size_t PerfRank::countWrong(const PerfCase& c, bool inPlace) const {
  const std::byte* to = receiveAt(c, inPlace);
  const std::size_t bytes = elementBytes(c.type);
  std::size_t wrong = 0;
  for (const Piece& piece : piecesOf(options_.collective, c.layout.count, options_.ranks(), rank_, c.root)) {
    const std::byte* at = to + piece.to * bytes;
    wrong += piece.source == Piece::kAllRanks
                 ? reduction_->countWrong(at, piece.count, piece.from)
                 : countWrongPattern(at, piece.count, bytes, piece.source, piece.from);
  }
  return wrong;
}

namespace {

using Clock = std::chrono::steady_clock;

double elapsed(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

PerfThread::PerfThread(const PerfOptions& options, int firstRank, int firstDevice) : options_(options) {
  int devices = 1;
  require(cudaGetDeviceCount(&devices), nullptr, "cudaGetDeviceCount");
  for (int i = 0; i < options.gpus; ++i)
    ranks_.push_back(std::make_unique<PerfRank>(options, firstRank + i, (firstDevice + i) % devices));
}

template <typename Call>
void PerfThread::together(bool group, Call&& call) {
  group = group || ranks_.size() > 1;
  if (group) require(ncclGroupStart(), nullptr, "ncclGroupStart");
  for (const auto& rank : ranks_) call(*rank);
  if (group) require(ncclGroupEnd(), nullptr, "ncclGroupEnd");
}

void PerfThread::join(const ncclUniqueId& id) {
  // Each call waits for all ranks of the job, so those of one thread must be in a group.
  together(false, [&](PerfRank& rank) { rank.join(id); });
  const std::size_t sharedBytes = static_cast<std::size_t>(options_.ranks()) * sizeof(PerfMessage);
  for (const auto& rank : ranks_) rank->prepare(sharedBytes);
}

void PerfThread::issue(const PerfCase& c, bool inPlace, int times) {
  const int steps = stepsOf(options_.collective, options_.ranks());
  const bool group = isPointToPoint(options_.collective) || times > 1;
  for (int step = 0; step < steps; ++step)
    together(group, [&](PerfRank& rank) {
      for (int i = 0; i < times; ++i) rank.issue(c, inPlace, step);
    });
}

void PerfThread::capture(const std::function<void()>& calls) {
  for (const auto& rank : ranks_) rank->beginCapture();
  calls();
  for (const auto& rank : ranks_) rank->endCapture();
}

void PerfThread::launchGraphs() {
  for (const auto& rank : ranks_) rank->launchGraph();
}

void PerfThread::synchronize() {
  for (const auto& rank : ranks_) rank->synchronize();
}

void PerfThread::meet() {
  together(false, [](PerfRank& rank) { rank.issueShared(1); });
  synchronize();
}

std::vector<PerfMessage> PerfThread::exchange(const std::vector<PerfMessage>& mine) {
  const auto ranks = static_cast<std::size_t>(options_.ranks());
  const std::size_t bytes = ranks * sizeof(PerfMessage);
  // Each rank has its message in its own place and zeros elsewhere, so the sum has all messages.
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    std::memset(ranks_[i]->shared(), 0, bytes);
    std::memcpy(ranks_[i]->shared() + static_cast<std::size_t>(mine[i].rank) * sizeof(PerfMessage), &mine[i],
                sizeof(PerfMessage));
  }
  together(false, [&](PerfRank& rank) { rank.issueShared(bytes); });
  synchronize();
  std::vector<PerfMessage> all(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    std::memcpy(&all[i], ranks_.front()->shared() + i * sizeof(PerfMessage), sizeof(PerfMessage));
  return all;
}

void PerfThread::measure(const PerfCase& c, bool inPlace, PerfMessage::Timing PerfMessage::*timing,
                         std::vector<PerfMessage>& results) {
  const bool withGraph = options_.graphLaunches > 0;
  const auto issueIterations = [&](int iterations, bool wait) {
    for (int i = 0; i < iterations; ++i) {
      issue(c, inPlace, options_.aggregated);
      if (wait) synchronize();
    }
  };
  issueIterations(options_.warmup, options_.blocking);
  // The graph has all iterations; nothing is executed while it is captured.
  if (withGraph) capture([&] { issueIterations(options_.iterations, false); });
  meet();
  const auto start = Clock::now();
  if (!withGraph) issueIterations(options_.iterations, options_.blocking);
  for (int i = 0; i < options_.graphLaunches; ++i) {
    launchGraphs();
    if (options_.blocking) synchronize();
  }
  const double enqueued = elapsed(start);
  synchronize();
  const double taken = elapsed(start);
  const double operations =
      static_cast<double>(options_.iterations) * options_.aggregated * std::max(options_.graphLaunches, 1);
  for (PerfMessage& result : results) {
    (result.*timing).microseconds = taken / operations;
    (result.*timing).enqueuing = enqueued / operations;
  }
  for (int i = 0; i < options_.checks; ++i) {
    for (const auto& rank : ranks_) rank->fill(c, inPlace);
    // A single operation: in place, a second one would take the first one's results.
    if (withGraph) {
      capture([&] { issue(c, inPlace, 1); });
      launchGraphs();
    } else {
      issue(c, inPlace, 1);
    }
    synchronize();
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      (results[r].*timing).wrong += ranks_[r]->countWrong(c, inPlace);
  }
}

void PerfThread::run(PerfOutlet& outlet) {
  std::vector<PerfMessage> hellos;
  for (const auto& rank : ranks_) {
    hellos.push_back(PerfMessage::of(PerfMessage::kHello, rank->rank()));
    hellos.back().device = rank->device();
    hellos.back().setText(hostName());
  }
  outlet.joined(*this, hellos);
  const std::vector<PerfCase> cases = casesOf(options_);
  for (const PerfCase& one : cases) {
    std::vector<PerfMessage> results;
    for (const auto& rank : ranks_) {
      rank->use(one);
      results.push_back(PerfMessage::of(PerfMessage::kResult, rank->rank()));
    }
    measure(one, false, &PerfMessage::outOfPlace, results);
    if (isDefinedInPlace(options_.collective)) {
      for (const auto& rank : ranks_) rank->use(one);
      measure(one, true, &PerfMessage::inPlace, results);
    }
    outlet.measured(*this, one, results);
  }
}

}  // namespace xylem::cli
