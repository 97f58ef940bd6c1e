#pragma once
// Communicators through nccl.h for tests, on GPUs that are threads of the CPU or on host devices.
//
//   const Environment environment(variablesOf("Ring", "Simple"));
//   MappedGpus gpus;
//   Ranks ranks(&gpus, 2);
//   std::byte* const data = ranks.memory(1, bytes);

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/scoped_environment.h"
#include "nccl.h"
#include "runtime/comm/watch/host_records.h"
#include "runtime/gpu/mapped_gpus.h"

namespace xylem::testing {

// `overNetwork`: neither memory nor pointers lead from one rank to another, though all are on one host.
inline std::map<std::string, std::string> variablesOf(const char* algorithm, const char* protocol,
                                                      bool overNetwork = false) {
  std::map<std::string, std::string> variables{{"NCCL_ALGO", algorithm},  {"NCCL_PROTO", protocol},
                                               {"NCCL_PAT_ENABLE", "1"},  {"NCCL_BUFFSIZE", "8192"},
                                               {"NCCL_MAX_CTAS", "2"},    {"NCCL_SOCKET_IFNAME", "lo"},
                                               {"NCCL_SHM_DISABLE", "0"}, {"XYLEM_TIMEOUT", "30"}};
  if (overNetwork) variables["NCCL_SHM_DISABLE"] = variables["NCCL_P2P_DISABLE"] = "1";
  return variables;
}

class Environment {
 public:
  explicit Environment(std::map<std::string, std::string> variables) : scope_({}) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    setenv("XYLEM_HOST_DEVICES", "8", 1);
  }

 private:
  ScopedEnvironment scope_;
};

inline void expectAll(const float* values, std::size_t count, float expected) {
  EXPECT_EQ(std::count(values, values + count, expected), static_cast<std::ptrdiff_t>(count));
}

// The error of a communicator; waits up to ten seconds for one.
inline ncclResult_t asyncErrorOf(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  for (int i = 0; i < 1000 && state == ncclSuccess; ++i) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return state;
}

// Whether the flight recorders of this process say that this rank waits for `peer` in this way; for kNone, whether none of them says that it
// waits. Waits up to ten seconds for that.
inline bool seesWait(int rank, comm::WaitKind kind, int peer = -1) {
  for (int i = 0; i < 1000; ++i) {
    int waits = 0, asked = 0;
    for (const comm::SeenJob& job : comm::jobsOf(comm::seeProcesses({getpid()})))
      if (const comm::SeenRank* const seen = job.find(rank)) {
        waits += seen->log.wait != comm::WaitKind::kNone;
        asked += seen->log.wait == kind && seen->log.waitsFor == peer;
      }
    if (kind == comm::WaitKind::kNone ? waits == 0 : asked > 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Ranks of this thread, all on GPUs or all on host devices, with a stream each.
class Ranks {
 public:
  Ranks(MappedGpus* gpus, int count) : gpus_(gpus), comms_(static_cast<std::size_t>(count)) {
    setenv("XYLEM_DEVICE", gpus == nullptr ? "host" : "auto", 1);
    const ncclResult_t made = ncclCommInitAll(comms_.data(), count, nullptr);
    if (made != ncclSuccess) throw std::runtime_error(ncclGetLastError(nullptr));
    for (int rank = 0; rank < count; ++rank) {
      if (gpus != nullptr) {
        gpus->setDevice(rank);
        streams_.push_back(static_cast<cudaStream_t>(gpus->makeStream()));
      } else {
        cudaSetDevice(rank);
        cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking);
      }
    }
  }
  ~Ranks() {
    ncclGroupStart();
    for (const ncclComm_t comm : comms_) ncclCommDestroy(comm);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
    if (gpus_ == nullptr)
      for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    if (gpus_ != nullptr)
      gpus_->setDevice(0);
    else
      cudaSetDevice(0);
  }

  int count() const { return static_cast<int>(comms_.size()); }
  ncclComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  cudaStream_t stream(int rank) const { return streams_[static_cast<std::size_t>(rank)]; }
  std::byte* memory(int rank, std::size_t bytes) {
    if (gpus_ == nullptr) return owned_.emplace_back(new std::byte[bytes + 64]).get();
    gpus_->setDevice(rank);
    return static_cast<std::byte*>(gpus_->allocate(bytes + 64));
  }
  void abort(int rank) {
    EXPECT_EQ(ncclCommAbort(std::exchange(comms_[static_cast<std::size_t>(rank)], nullptr)), ncclSuccess);
  }
  void await() {
    for (const cudaStream_t stream : streams_) {
      if (gpus_ != nullptr)
        gpus_->await(stream);
      else
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << ncclGetLastError(nullptr);
    }
  }

 private:
  MappedGpus* gpus_;
  std::vector<ncclComm_t> comms_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::unique_ptr<std::byte[]>> owned_;
};

}  // namespace xylem::testing
