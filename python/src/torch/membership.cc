#include "torch/membership.h"

#include <chrono>
#include <cstring>
#include <regex>
#include <thread>

#include "runtime/api/time_out.h"

namespace xylem::torch {
namespace {

constexpr std::chrono::microseconds kPause{200};

void requireCuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("xylem: ") + what + ": " + cudaGetErrorString(error));
}

}  // namespace

Moment::Moment(cudaStream_t stream) {
  requireCuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cannot create an event");
  requireCuda(cudaEventRecord(event_, stream), "cannot record an event");
}

Moment::~Moment() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

bool Moment::reached() const { return cudaEventQuery(event_) != cudaErrorNotReady; }
void Moment::await() const { cudaEventSynchronize(event_); }

ncclUniqueId newId() {
  ncclUniqueId id;
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
    throw std::runtime_error(std::string("xylem: ncclGetUniqueId: ") + ncclGetLastError(nullptr));
  return id;
}

Membership::Membership(const ncclUniqueId& id, int rank, int ranks, int device) : device_(device) {
  requireCuda(cudaSetDevice(device), "cannot use its host device (XYLEM_HOST_DEVICES)");
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess)
    throw std::runtime_error("xylem: rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                             " could not join: " + ncclGetLastError(nullptr));
  comm_ = comm;
  makeStream();
}

Membership::Membership(const ncclUniqueId& id, int rank, const std::array<int, 2>& names, int device,
                       const std::function<void()>& throwIfOver)
    : device_(device), names_(names) {
  requireCuda(cudaSetDevice(device), "cannot use its host device (XYLEM_HOST_DEVICES)");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  ncclResult_t state = ncclCommInitRankConfig(&comm, 2, id, rank, &config);
  try {
    while (state == ncclInProgress) {
      throwIfOver();
      std::this_thread::sleep_for(kPause);
      ncclCommGetAsyncError(comm, &state);
    }
    if (state != ncclSuccess)
      throw std::runtime_error(
          "xylem: rank " + std::to_string(names[static_cast<std::size_t>(rank)]) + " could not join rank " +
          std::to_string(names[static_cast<std::size_t>(1 - rank)]) + ": " + named(ncclGetLastError(comm)));
  } catch (...) {
    if (comm != nullptr) ncclCommAbort(comm);
    throw;
  }
  comm_ = comm;
  makeStream();
}

void Membership::makeStream() {
  if (cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess) return;
  fail("cannot create a stream");
  check();
}

Membership::~Membership() {
  if (ncclComm_t comm = comm_.exchange(nullptr)) {
    if (cudaStreamQuery(stream_) == cudaErrorNotReady)
      ncclCommAbort(comm);
    else
      ncclCommDestroy(comm);
  }
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

ncclComm_t Membership::usable() {
  if (ncclComm_t comm = comm_.load()) {
    // Devices belong to threads, and calls come from several threads.
    cudaSetDevice(device_);
    return comm;
  }
  check();
  throw std::runtime_error("xylem: the communicator is gone");
}

void Membership::require(const char* name, ncclResult_t result) {
  // A communicator of two ranks connects them in the background.
  while (result == ncclInProgress) {
    std::this_thread::sleep_for(kPause);
    ncclComm_t comm = comm_.load();
    if (comm == nullptr || ncclCommGetAsyncError(comm, &result) != ncclSuccess) result = ncclRemoteError;
  }
  if (result == ncclSuccess) return;
  check();  // the error that broke it says more
  throw std::runtime_error(std::string("xylem: ") + name + ": " + ncclGetErrorString(result) + ": " +
                           named(ncclGetLastError(nullptr)));
}

std::string Membership::named(const char* text) const {
  if (!names_) return text;
  static const std::regex rank("\\branks? ([01])\\b");
  std::string result;
  std::cregex_iterator found(text, text + std::strlen(text), rank), none;
  const char* rest = text;
  for (; found != none; ++found) {
    result.append(rest, (*found)[1].first);
    result += std::to_string((*names_)[*(*found)[1].first == '0' ? 0 : 1]);
    rest = (*found)[1].second;
  }
  return result + rest;
}

void Membership::wait(const Moment& moment) {
  moment.await();
  check();
}

void Membership::check() {
  const std::lock_guard lock(mutex_);
  ncclComm_t comm = comm_.load();
  ncclResult_t state = ncclSuccess;
  if (!failure_ && comm != nullptr && ncclCommGetAsyncError(comm, &state) == ncclSuccess &&
      state != ncclSuccess && state != ncclInProgress)
    failure_ = std::string(ncclGetErrorString(state)) + ": " + named(ncclGetLastError(comm));
  if (failure_) throw std::runtime_error("xylem: " + *failure_);
}

void Membership::fail(const std::string& reason) noexcept {
  ncclComm_t comm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = reason;
    comm = comm_.exchange(nullptr);
  }
  if (comm != nullptr) ncclCommAbort(comm);
}

void Membership::timeOut(const std::string& what) noexcept {
  // Held until the reason is complete: check() must not see half of it.
  const std::lock_guard lock(mutex_);
  ncclComm_t comm = comm_.exchange(nullptr);
  const std::string reason = comm == nullptr ? what : xylem::api::abortLate(comm, what);
  if (!failure_) failure_ = reason;
}

}  // namespace xylem::torch
