#include "soak/actor.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "soak/environment.h"

namespace xylem::soak {
namespace {

constexpr std::uint64_t kMaxReports = 20;

void fillInput(void* pending) { static_cast<Actor::Pending*>(pending)->issued.fill(); }
void spoilInput(void* pending) { static_cast<Actor::Pending*>(pending)->issued.spoil(); }
void checkOutput(void* pending) { static_cast<Actor::Pending*>(pending)->issued.check(); }

}  // namespace

Actor::Actor(int rank, int phase, Board& board, const PhasePlan& plan, Random random)
    : rank_(rank), phase_(phase), board_(board), plan_(plan), random_(random), members_(plan.comms.size()) {
  activate();
  for (int n = random_.below(4); n > 0; --n)
    require(cudaStreamCreateWithFlags(&streams_.emplace_back(),
                                      random_.pick({cudaStreamDefault, cudaStreamNonBlocking})),
            "cudaStreamCreateWithFlags");
}

Actor::~Actor() {
  activate();
  for (cudaStream_t stream : streams_)
    if (stream != nullptr) require(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

void Actor::activate() const {
  const std::lock_guard lock(environmentMutex());
  require(cudaSetDevice(rank_), "cudaSetDevice");
}

void Actor::say(const char* what, int comm) const {
  RankState& state = board_.ranks[static_cast<std::size_t>(rank_)];
  state.doing.store(what, std::memory_order_relaxed);
  state.comm.store(comm, std::memory_order_relaxed);
  state.beats.fetch_add(1, std::memory_order_relaxed);
}

void Actor::atStep(int step) const {
  board_.ranks[static_cast<std::size_t>(rank_)].step.store(step, std::memory_order_relaxed);
}

cudaStream_t Actor::anyStream() {
  return streams_[static_cast<std::size_t>(random_.below(static_cast<int>(streams_.size())))];
}

Actor::Pending& Actor::add(const Operation& operation, Side side) {
  pending_.push_back(
      std::make_unique<Pending>(operation, comm(operation.comm), rankIn(operation.comm), side, random_));
  Pending& pending = *pending_.back();
  pending.stream = anyStream();
  board_.operations.fetch_add(1, std::memory_order_relaxed);
  board_.bytes.fetch_add(pending.issued.bytes(), std::memory_order_relaxed);
  return pending;
}

void Actor::inOrder(cudaStream_t stream, void (*work)(void*), Pending& pending) {
  require(cudaLaunchHostFunc(stream, work, &pending), "cudaLaunchHostFunc");
}

void Actor::letWait(cudaStream_t stream, cudaStream_t forWhom) {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  require(cudaEventRecord(event, forWhom), "cudaEventRecord");
  require(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
  require(cudaEventDestroy(event), "cudaEventDestroy");
}

void Actor::prepare(Pending& pending) {
  const Buffer& buffer = pending.issued.anyBuffer();
  const ncclComm_t handle = member(pending.issued.operation().comm).handle;
  // Fails only for a communicator that has broken since; its operations report that.
  if (buffer.size() > 0 && random_.chance(10))
    ncclCommRegister(handle, buffer.data(), buffer.size(), &pending.registration);
  switch (random_.below(4)) {
    case 0:
      inOrder(pending.stream, fillInput, pending);
      break;
    case 1: {
      const cudaStream_t other = anyStream();
      inOrder(other, fillInput, pending);
      letWait(pending.stream, other);
      break;
    }
    default:
      pending.issued.fill();
  }
}

ncclResult_t Actor::call(Pending& pending) {
  const int index = pending.issued.operation().comm;
  say(name(pending.issued.operation().function), index);
  return pending.issued.call(member(index).handle, pending.stream);
}

void Actor::follow(Pending& pending) {
  if (random_.chance(40)) inOrder(pending.stream, spoilInput, pending);
  switch (random_.below(6)) {
    case 0:
      inOrder(pending.stream, checkOutput, pending);
      break;
    case 1: {
      const cudaStream_t other = anyStream();
      letWait(other, pending.stream);
      inOrder(other, checkOutput, pending);
      break;
    }
    default:
      break;
  }
}

cudaError_t Actor::waitFor(cudaStream_t stream) {
  switch (random_.below(4)) {
    case 0: {
      cudaError_t result = cudaSuccess;
      while ((result = cudaStreamQuery(stream)) == cudaErrorNotReady) usleep(50);
      return result;
    }
    case 1: {
      cudaEvent_t event = nullptr;
      require(cudaEventCreate(&event), "cudaEventCreate");
      require(cudaEventRecord(event, stream), "cudaEventRecord");
      const cudaError_t result = cudaEventSynchronize(event);
      require(cudaEventDestroy(event), "cudaEventDestroy");
      // The stream still has the error of work before the event.
      const cudaError_t kept = cudaStreamSynchronize(stream);
      return result != cudaSuccess ? result : kept;
    }
    default:
      break;
  }
  return cudaStreamSynchronize(stream);
}

bool Actor::synchronize(bool tolerant) {
  say("waiting for its streams");
  bool well = true;
  if (!tolerant && random_.chance(20)) require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const std::size_t first = static_cast<std::size_t>(random_.below(static_cast<int>(streams_.size())));
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const cudaError_t result = waitFor(streams_[(first + i) % streams_.size()]);
    well = well && result == cudaSuccess;
    streamFailed_ = streamFailed_ || result != cudaSuccess;
    if (!tolerant) require(result, "cudaStreamSynchronize");
  }
  return well;
}

void Actor::verify() {
  say("checking results");
  for (const auto& pending : pending_) {
    Member& owner = member(pending->issued.operation().comm);
    if (pending->registration != nullptr && owner.handle != nullptr && !owner.failed)
      require(ncclCommDeregister(owner.handle, pending->registration), "ncclCommDeregister", owner.handle);
    if (pending->dropped || owner.failed) continue;
    pending->issued.check();
    if (!pending->issued.wrong().empty())
      reportWrong(pending->issued.description() + ": " + pending->issued.wrong() +
                  (streamFailed_ ? " (work on a stream has failed before)" : ""));
  }
  pending_.clear();
  streamFailed_ = false;
}

ncclResult_t Actor::settle(ncclComm_t handle) {
  ncclResult_t state = ncclInProgress;
  while (ncclCommGetAsyncError(handle, &state) == ncclSuccess && state == ncclInProgress) usleep(100);
  return state;
}

void Actor::require(ncclResult_t result, const char* what, ncclComm_t handle) const {
  if (result == ncclInProgress && handle != nullptr) result = settle(handle);
  if (result == ncclSuccess) return;
  const std::string text = ncclGetLastError(nullptr),
                    ofComm = handle == nullptr ? "" : ncclGetLastError(handle);
  giveUp(fmt::format("{} returned {} ({}): {} | {}", what, static_cast<int>(result),
                     ncclGetErrorString(result), text, ofComm));
}

void Actor::require(cudaError_t result, const char* what) const {
  if (result == cudaSuccess) return;
  std::string text = fmt::format("{} returned {}", what, cudaGetErrorName(result));
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].handle != nullptr)
      text += fmt::format(" | communicator {}: {}", i, ncclGetLastError(members_[i].handle));
  giveUp(text);
}

void Actor::reportWrong(const std::string& text) const {
  if (board_.wrong.fetch_add(1, std::memory_order_relaxed) < kMaxReports)
    fmt::print(stderr, "soak: WRONG in phase {}, rank {}: {}\n", phase_, rank_, text);
}

void Actor::giveUp(const std::string& text) const {
  reportWrong(text);
  board_.failed.store(true);
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace xylem::soak
