#pragma once
// The members of the calling thread's open group: whether its calls may be in one group, which communicators
// it uses, and which it destroys at its end.
//
//   GroupMembers& group = GroupMembers::ofThread();
//   group.check(handle, GroupCall::kLife, "ncclCommSplit");   // throws if the call cannot be in this group
//   submitJob(*handle.impl, split);
//   group.add(use);                                           // in use until the outermost end
//
//   GroupMembers::addCall(comm, "ncclSend", [&](ncclComm& handle) { submit(*handle.impl, operation); });
//
// Outside of groups all of these do nothing.

#include <optional>
#include <vector>

#include "core/error.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/repeated_groups.h"
#include "runtime/comm/issue/group.h"

namespace xylem::api {

enum class GroupCall {
  kOperation,  // collectives, ncclSend, ncclRecv
  kLife,       // making, splitting, finalizing and destroying communicators
};

class GroupMembers {
 public:
  // Created after the thread's use marks, and so destroyed before them, together with the uses of a group
  // that was never ended.
  GroupMembers() { UseMarks::ofThread(); }
  // Calls that were only counted until now (repeated_groups.h) become members first.
  static GroupMembers& ofThread() {
    RepeatedGroups::stop();
    return perThread<GroupMembers>();
  }
  // A call that moves data: calls `submit` with the handle, in use and ready, and keeps that in use if there is an open group.
  template <typename Submit>
  static void addCall(ncclComm_t comm, const char* function, Submit&& submit);

  // Throws if the group has calls of the other kind, or communicators of the other blocking mode.
  void check(const ncclComm& handle, GroupCall call, const char* function);
  void check(bool blocking, GroupCall call, const char* function);
  // Takes over the call's use of a communicator until the end.
  void add(CommUse& use);
  bool uses(const ncclComm& handle) const;
  // Frees the communicator at the end.
  void freeAtEnd(ncclComm& handle) { toFree_.push_back(&handle); }
  // The same for one that is being aborted, once the operations of all that are have ended.
  void endAbortAtEnd(ncclComm& handle) { aborted_.push_back(&handle); }
  // After the outermost end. Returns the error of a communicator that could not be freed; the others are.
  std::optional<Error> end() noexcept;

 private:
  bool usedLast(const ncclComm* handle) const { return !used_.empty() && &*used_.back() == handle; }
  // True if the group goes on with such calls on the communicator that it used last: there is nothing to check or add.
  bool goesOn(const ncclComm* handle, GroupCall call) const { return call_ == call && usedLast(handle); }

  std::optional<bool> blocking_;
  std::optional<GroupCall> call_;
  std::vector<CommUse> used_;
  std::vector<ncclComm*> toFree_, aborted_;
};

template <typename Submit>
void GroupMembers::addCall(ncclComm_t comm, const char* function, Submit&& submit) {
  GroupMembers* group = comm::groupDepth() > 0 ? &ofThread() : nullptr;
  const bool goesOn = group != nullptr && group->goesOn(comm, GroupCall::kOperation);
  if (goesOn) group = nullptr;
  CommUse use(comm, function, goesOn);
  requireReady(*use, function);
  if (group != nullptr) group->check(*use, GroupCall::kOperation, function);
  submit(*use);
  if (group != nullptr) group->add(use);
}

}  // namespace xylem::api
