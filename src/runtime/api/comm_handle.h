#pragma once
// The object to which an ncclComm_t points: a communicator, and the state that the C interface keeps about
// it.
//
//   CommUse comm(handle, "ncclSend");     // throws if the handle is null, freed, or not a communicator
//   requireReady(*comm, "ncclSend");
//   comm->impl->launch(operations);
//
// Handles outlive their communicators for a while, so that a freed one is recognised.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/use_marks.h"
#include "nccl.h"
#include "runtime/api/boundary.h"
#include "runtime/comm/communicator.h"

namespace xylem::api {

class OneSided;

// A split that is under way. It uses the communicator that is split.
struct PendingSplit {
  std::atomic<bool> over{false};
};

// The buffers that a program registered for a communicator (ncclCommRegister). Ranks on one host map each
// other's buffers without that, so it only gives out handles and recognises them.
class Registrations {
 public:
  void* add(const void* buffer, std::size_t bytes) {
    const std::uintptr_t number = nextNumber();
    buffers_[number] = {buffer, bytes};
    return reinterpret_cast<void*>(number);
  }
  // The start of a buffer; null if `handle` is none of a buffer.
  const void* find(const void* handle) const {
    const auto found = buffers_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == buffers_.end() ? nullptr : found->second.start;
  }
  bool remove(const void* handle) { return buffers_.erase(reinterpret_cast<std::uintptr_t>(handle)) > 0; }

 private:
  struct Buffer {
    const void* start = nullptr;
    std::size_t bytes = 0;
  };
  static std::uintptr_t nextNumber() {
    static std::atomic<std::uintptr_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  // By number. Numbers are not used again in the process, so that a handle given back twice, or to another
  // communicator, never removes another buffer.
  std::map<std::uintptr_t, Buffer> buffers_;
};

}  // namespace xylem::api

namespace xylem::api {
// How many forks made this process, counted from the first handle on. A child has none of the threads and connections with
// which a communicator of its parent works.
inline std::atomic<unsigned> forks{0};
unsigned countForks();
}  // namespace xylem::api

struct ncclComm {
  explicit ncclComm(std::unique_ptr<xylem::comm::Communicator> made) : impl(std::move(made)) {}

  static constexpr std::uint64_t kMagic = 0x78796c656d636f6dull;  // "xylemcom"
  // Tells a communicator from a freed one, and from a pointer to something else.
  std::atomic<std::uint64_t> magic{kMagic};
  // Counts calls and open groups that use the communicator and have no mark (core/use_marks.h).
  // ncclCommAbort, which another thread may call, waits for both kinds of use.
  std::atomic<int> users{0};
  std::unique_ptr<xylem::comm::Communicator> impl;
  const unsigned forksBefore = xylem::api::countForks();
  bool finalizeCalled = false;
  std::atomic<bool> suspended{false};  // by ncclCommSuspend
  // Expires with the communicator, for graphs, which may outlive even the handle.
  std::shared_ptr<const void> alive = std::make_shared<char>();
  std::weak_ptr<xylem::api::PendingSplit> split;
  // This rank's part in the last split, if it is in none of the new communicators.
  std::unique_ptr<xylem::comm::Communicator> bystander;
  xylem::api::Registrations registrations;
  xylem::api::Registrations windows;
  std::uint64_t windowsMade = 0;
  // Null before the first one-sided call. ncclCommAbort may end it while another thread makes it.
  std::mutex oneSidedMutex;
  std::shared_ptr<xylem::api::OneSided> oneSided;
  std::string failureText;  // the text that ncclGetLastError returned last
};

namespace xylem::api {

// A call's use of a handle. `held`: the group in which the call is made already uses it, which saves the
// marking.
class CommUse {
 public:
  // Inlined: every operation makes one.
  [[gnu::always_inline]] CommUse(ncclComm_t comm, const char* function, bool held = false) : handle_(comm) {
    requireNotNull(comm, function, "comm");
    if (!held) begin();
    if (comm->magic.load(std::memory_order_seq_cst) != ncclComm::kMagic) refuse(function);
    if (comm->forksBefore != forks.load(std::memory_order_relaxed)) refuseChild(function);
  }
  ~CommUse() { end(); }
  // The use goes on with the new object; the old one still knows the handle.
  CommUse(CommUse&& other) noexcept
      : handle_(other.handle_),
        mark_(std::exchange(other.mark_, nullptr)),
        counted_(std::exchange(other.counted_, false)) {}
  CommUse(const CommUse&) = delete;
  CommUse& operator=(const CommUse&) = delete;

  ncclComm& operator*() const { return *handle_; }
  ncclComm* operator->() const { return handle_; }

 private:
  void begin() {
    mark_ = UseMarks::ofThread().set(handle_);
    if (mark_ != nullptr) return;
    handle_->users.fetch_add(1, std::memory_order_seq_cst);
    counted_ = true;
  }
  void end() {
    if (mark_ != nullptr) mark_->clear();
    if (counted_) handle_->users.fetch_sub(1, std::memory_order_release);
  }
  [[noreturn]] void refuse(const char* function);
  [[noreturn]] void refuseChild(const char* function);

  ncclComm* handle_;
  UseMark* mark_ = nullptr;
  bool counted_ = false;
};

bool splitUnderWay(const ncclComm& handle);
// The failure of the communicator's operations, or else of its one-sided ones; nothing if none failed.
std::optional<Error> failureOf(ncclComm& handle);

// Throws if no call can be made on the communicator: while it is set up or split, after it was finalized, or
// if it is broken; then it throws the error that broke it.
void requireReadyAfterAll(const ncclComm& handle, const char* function);
inline void requireReady(const ncclComm& handle, const char* function) {
  const bool plainly =
      handle.impl->state() == comm::CommState::kReady && !handle.finalizeCalled && handle.split.expired();
  if (!plainly) requireReadyAfterAll(handle, function);
}
// The same, but accepts a revoked communicator: its ranks can still meet.
void requireMeetable(const ncclComm& handle, const char* function);

// Marks the handle as that of a freed communicator. False if it was marked before.
bool markFreed(ncclComm& handle);
// Frees the communicator of a handle that is marked as freed.
void freeCommunicator(ncclComm& handle);
// Waits until no call or group uses a communicator any more that was aborted. Throws if one still does after 10
// seconds; it cannot be freed then.
void requireLeft(const ncclComm& handle, const char* function);
// The second part of aborting the communicator of a handle that is marked as freed.
void endAbort(ncclComm& handle) noexcept;

}  // namespace xylem::api
