#pragma once
// What ncclComm_t points to: a communicator, and what the C interface has to remember about it.
//
//   CommUse comm(handle, "ncclSend");     // throws for null, freed, or no communicator
//   requireReady(*comm, "ncclSend");
//   comm->impl->launch(...);
//
// Handles outlive their communicators for a while, so that one that was freed is still known as such.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/api/boundary.h"
#include "runtime/api/registrations.h"
#include "runtime/comm/communicator.h"
#include "core/use_marks.h"
#include "nccl.h"

// A split that is under way: it uses the communicator that is split.
struct PendingSplit {
  std::atomic<bool> over{false};
};

struct ncclComm {
  explicit ncclComm(std::unique_ptr<xylem::Communicator> made) : impl(std::move(made)) {}

  static constexpr std::uint64_t kMagic = 0x78796c656d636f6dull;  // "xylemcom"
  // Tells a communicator from a pointer to something else, or to one that was freed.
  std::atomic<std::uint64_t> magic{kMagic};
  // Calls, and open groups, that are using it and have no mark (core/use_marks.h): ncclCommAbort, which may
  // come from another thread, waits for both.
  std::atomic<int> users{0};
  std::unique_ptr<xylem::Communicator> impl;
  bool finalizeCalled = false;
  // Gone once the communicator is: for what may outlive even the handle.
  std::shared_ptr<const void> alive = std::make_shared<char>();
  std::weak_ptr<PendingSplit> split;
  // This rank's part in the last split if it went into none of the new communicators.
  std::unique_ptr<xylem::Communicator> bystander;
  xylem::Registrations registrations;
  xylem::Registrations windows;
  std::string failureText;  // what ncclGetLastError handed out last
};

namespace xylem {

// A call's use of a handle. `held`: by the group in which the call is made, which saves the marking.
class CommUse {
 public:
  CommUse(ncclComm_t comm, const char* function, bool held = false) : handle_(comm) {
    requireNotNull(comm, function, "comm");
    if (!held) begin();
    if (comm->magic.load(std::memory_order_seq_cst) != ncclComm::kMagic) refuse(function);
  }
  ~CommUse() { end(); }
  // The use goes on with the new one; the other one may still be asked for the handle.
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

  ncclComm* handle_;
  UseMark* mark_ = nullptr;
  bool counted_ = false;
};

bool splitUnderWay(const ncclComm& handle);

// Throws unless a call can be made on it: not while it is set up or split, not after it was finalized, and
// what broke it if it is broken.
void requireReadyAfterAll(const ncclComm& handle, const char* function);
inline void requireReady(const ncclComm& handle, const char* function) {
  const bool plainly =
      handle.impl->state() == CommState::kReady && !handle.finalizeCalled && handle.split.expired();
  if (!plainly) requireReadyAfterAll(handle, function);
}
// The same, but one that was revoked will do: its ranks can still meet.
void requireMeetable(const ncclComm& handle, const char* function);

// From now on the handle is that of a freed communicator; false if it was before.
bool markFreed(ncclComm& handle);
// Frees the communicator of a handle that is marked as freed.
void freeCommunicator(ncclComm& handle);
// Waits until nobody uses it any more; false if that takes longer than it should.
bool waitForUsers(const ncclComm& handle);

}  // namespace xylem
