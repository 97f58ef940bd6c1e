#include "api/group_members.h"

#include <algorithm>

#include "comm/group.h"
#include "core/error.h"
#include "core/per_thread.h"

namespace xylem {

GroupMembers& GroupMembers::ofThread() { return perThread<GroupMembers>(); }

void GroupMembers::check(const ncclComm& handle, GroupCall call, const char* function) {
  if (groupDepth() == 0) return;
  check(handle.impl->config().blocking, call, function);
}

void GroupMembers::check(bool blocking, GroupCall call, const char* function) {
  if (groupDepth() == 0) return;
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
  return std::find(used_.begin(), used_.end(), &handle) != used_.end();
}

void GroupMembers::add(ncclComm& handle) {
  // Calls in a row are usually on the same one.
  if (groupDepth() == 0 || usedLast(&handle) || uses(handle)) return;
  used_.push_back(&handle);
  handle.users.fetch_add(1, std::memory_order_seq_cst);
}

void GroupMembers::end() noexcept {
  blocking_.reset();
  call_.reset();
  for (ncclComm* handle : used_) handle->users.fetch_sub(1, std::memory_order_release);
  used_.clear();
  for (ncclComm* handle : toFree_) freeCommunicator(*handle);
  toFree_.clear();
}

}  // namespace xylem
