#pragma once
// Groups: everything that a thread asks for between groupStart and the matching groupEnd happens together, in
// groupEnd. Outside of groups each call is a group of its own.
//
//   groupStart();
//   submit(communicator, sendToNext);
//   submit(communicator, receiveFromPrevious);
//   groupEnd();                                  // one launch per communicator

#include <cstdint>
#include <functional>
#include <vector>

#include "core/per_thread.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/device/scheduler.h"

namespace xylem::comm {

// Number of open groups of the calling thread.
inline XYLEM_THREAD_LOCAL int openGroups = 0;
inline int groupDepth() { return openGroups; }

// The launch of a group of one communicator, to be made again.
struct LaunchedGroup {
  Communicator* communicator = nullptr;  // null: there was no such group
  std::vector<CommOperation> operations;
  std::uint64_t work = 0;  // of the launch, as from Communicator::lastWork()
};

void groupStart();
// Ends the innermost group; if it is the outermost, does everything that was asked for. Throws the first
// error of the group, after dropping the rest. Returns true if work goes on in the background, on
// communicators that do not block. `launched`: unless null, what the outermost group launched, once it has.
bool groupEnd(LaunchedGroup* launched = nullptr);
// Ends an open group that has nothing in it.
inline void leaveEmptyGroup() { --openGroups; }
// Outside of groups: launches the same operations in the same buffers.
void launchAgain(LaunchedGroup& group);
// Ends the innermost group without doing anything. Returns the predicted time of its operations in
// microseconds (ncclGroupSimulateEnd).
float groupSimulateEnd();
// Tells the group that a call in it failed before it could be submitted: groupEnd throws `error`.
void failGroup(const Error& error);
bool groupHasFailed();

void addToGroup(Communicator& communicator, const CommOperation& operation);
inline void submit(Communicator& communicator, const CommOperation& operation) {
  if (openGroups > 0) return addToGroup(communicator, operation);
  communicator.launch({&operation, 1});
  device::Scheduler::limit(*operation.stream);
}
// Submits long work for one communicator, such as joining. In a group all jobs run at the same time, each in
// its own thread. Returns true if the work goes on, or will, in the background: on communicators that do not
// block.
bool submitJob(Communicator& communicator, std::function<void()> work);

}  // namespace xylem::comm
