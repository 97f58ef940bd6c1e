#pragma once
// What the calling thread's open group has in it, as far as the C interface has to know: whether its calls
// may be in one group, whom it uses, and whom it destroys.
//
//   GroupMembers& group = GroupMembers::ofThread();
//   group.check(handle, GroupCall::kOperation, "ncclSend");   // throws if it cannot be in this group
//   submit(*handle.impl, operation);
//   group.add(use);                                           // used until the outermost end
//
// Outside of groups all of this does nothing.

#include <optional>
#include <vector>

#include "runtime/api/comm_handle.h"

namespace xylem {

enum class GroupCall {
  kOperation,  // collectives, ncclSend, ncclRecv
  kLife,       // making, splitting, finalizing and destroying communicators
};

class GroupMembers {
 public:
  // Made after the thread's marks and so gone before them, with what a group that was never ended still uses.
  GroupMembers() { UseMarks::ofThread(); }
  static GroupMembers& ofThread();

  // Throws if the group has calls of the other kind, or communicators of the other blocking mode.
  void check(const ncclComm& handle, GroupCall call, const char* function);
  void check(bool blocking, GroupCall call, const char* function);
  // Takes over the call's use of it, until the end.
  void add(CommUse& use);
  // Whether the group's last call was on this one, which it therefore holds.
  bool usedLast(const ncclComm* handle) const { return !used_.empty() && &*used_.back() == handle; }
  bool uses(const ncclComm& handle) const;
  // Its communicator is freed at the end.
  void freeAtEnd(ncclComm& handle) { toFree_.push_back(&handle); }
  // After the outermost end.
  void end() noexcept;

 private:
  std::optional<bool> blocking_;
  std::optional<GroupCall> call_;
  std::vector<CommUse> used_;
  std::vector<ncclComm*> toFree_;
};

}  // namespace xylem
