#include "runtime/api/group_members.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/api/boundary.h"

namespace xylem::api {

void GroupMembers::check(const ncclComm& handle, GroupCall call, const char* function) {
  if (comm::groupDepth() == 0) return;
  check(handle.impl->config().blocking, call, function);
}

void GroupMembers::check(bool blocking, GroupCall call, const char* function) {
  if (comm::groupDepth() == 0) return;
  if (call_.value_or(call) != call)
    throw Error(ResultCode::kInvalidUsage,
                "{}: a group has either calls that move data or calls that make, split or end communicators, "
                "not both",
                function);
  if (blocking_.value_or(blocking) != blocking)
    throw Error(ResultCode::kInvalidArgument,
                "{}: a group has either communicators that block or such that do not (ncclConfig_t), not "
                "both",
                function);
  call_ = call;
  blocking_ = blocking;
}

bool GroupMembers::uses(const ncclComm& handle) const {
  return std::any_of(used_.begin(), used_.end(), [&](const CommUse& use) { return &*use == &handle; });
}

void GroupMembers::add(CommUse& use) {
  // Consecutive calls are usually on the same communicator.
  if (comm::groupDepth() == 0 || usedLast(&*use) || uses(*use)) return;
  used_.push_back(std::move(use));
}

// Giving back memory of a GPU waits for its kernels, also for those of other communicators: all have to end before any memory is given
// back.
std::optional<Error> GroupMembers::end() noexcept {
  blocking_.reset();
  call_.reset();
  used_.clear();
  std::optional<Error> failure;
  const auto attempt = [&](auto&& work) {
    try {
      work();
    } catch (const std::exception& exception) {
      if (!failure) failure = asError(exception);
    }
  };
  for (ncclComm* handle : aborted_) endAbort(*handle);
  for (ncclComm* handle : aborted_)
    attempt([&] {
      requireLeft(*handle, "ncclCommAbort");
      toFree_.push_back(handle);
    });
  for (ncclComm* handle : toFree_) attempt([&] { freeCommunicator(*handle); });
  aborted_.clear();
  toFree_.clear();
  return failure;
}

}  // namespace xylem::api
