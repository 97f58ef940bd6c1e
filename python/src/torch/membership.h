#pragma once
// One rank's place in an NCCL communicator, with the stream for its operations, for code that knows tensors
// and threads but not NCCL's life cycle.
//
//   Membership member(id, rank, ranks, device);
//   member.call("ncclAllReduce", [&](ncclComm_t comm, cudaStream_t stream) { return ncclAllReduce(...); });
//   Moment done = member.now();
//   member.wait(done);                       // runs the operations if nobody else does; throws what failed
//
// Once it has failed, by itself or by fail(), every function throws the first reason.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "nccl.h"

namespace xylem::torch {

// A position in a stream.
class Moment {
 public:
  explicit Moment(cudaStream_t stream);
  ~Moment();
  Moment(Moment&& other) noexcept : event_(other.event_) { other.event_ = nullptr; }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  Moment& operator=(Moment&&) = delete;

  bool reached() const;
  // Waits until the stream is here, and runs the work before it unless another thread does.
  void await() const;

 private:
  cudaEvent_t event_ = nullptr;
};

class Membership {
 public:
  // Returns when all ranks are connected.
  Membership(const ncclUniqueId& id, int rank, int ranks, int device);
  // A communicator of two ranks, which errors call by `names`. `throwIfOver` is asked now and then whether to go on with joining.
  Membership(const ncclUniqueId& id, int rank, const std::array<int, 2>& names, int device,
             const std::function<void()>& throwIfOver);
  // Leaves the communicator in order, or aborts operations that are under way.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Calls of several threads must not overlap: a thread that makes calls holds this.
  std::mutex& issuing() { return issuing_; }
  template <typename Call>
  void call(const char* name, const Call& nccl) {
    require(name, nccl(usable(), stream_));
  }
  // The calls in `calls` happen as one operation.
  template <typename Calls>
  void group(const Calls& calls) {
    require("ncclGroupStart", ncclGroupStart());
    try {
      calls();
    } catch (...) {
      ncclGroupSimulateEnd(nullptr);  // ends the group without issuing any of it
      throw;
    }
    require("ncclGroupEnd", ncclGroupEnd());
  }
  cudaStream_t stream() const { return stream_; }
  Moment now() const { return Moment(stream_); }
  void wait(const Moment& moment);
  // Throws the error with which it failed, if it has.
  void check();
  // Aborts operations that are under way, here and on the other ranks; from any thread.
  void fail(const std::string& reason) noexcept;
  // Like fail(), for operations that take too long: the error of all ranks names the ranks that are late.
  void timeOut(const std::string& what) noexcept;

 private:
  ncclComm_t usable();
  void makeStream();
  void require(const char* name, ncclResult_t result);
  // The text of an error, with the names of the two ranks.
  std::string named(const char* text) const;

  const int device_;
  const std::optional<std::array<int, 2>> names_;
  cudaStream_t stream_ = nullptr;
  std::atomic<ncclComm_t> comm_{nullptr};
  std::mutex issuing_;
  std::mutex mutex_;
  std::optional<std::string> failure_;
};

// A new id for a communicator (ncclGetUniqueId).
ncclUniqueId newId();

}  // namespace xylem::torch
