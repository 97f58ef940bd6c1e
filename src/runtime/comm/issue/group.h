#pragma once
// Groups: what a thread asks for between groupStart and the matching groupEnd happens at the end, all
// together. Outside of groups each call is a group of its own.
//
//   groupStart();
//   submit(communicator, sendToNext);
//   submit(communicator, receiveFromPrevious);
//   groupEnd();                                  // one launch per communicator

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/issue/operation.h"
#include "core/per_thread.h"

namespace xylem {

// How many groups of the calling thread are open.
inline XYLEM_THREAD_LOCAL int openGroups = 0;
inline int groupDepth() { return openGroups; }

void groupStart();
// Ends the innermost group; the outermost does what was asked for. Throws the first error of the group, after
// the rest of it was dropped. True: some of it still goes on in the background, on communicators that do not
// block.
bool groupEnd();
// Ends it without doing any of it; the predicted time of its operations in microseconds
// (ncclGroupSimulateEnd).
float groupSimulateEnd();
// A call inside of a group failed before it could be submitted: the group fails with that.
void failGroup(const Error& error);

void submit(Communicator& communicator, const CommOperation& operation);
// Long work for one communicator, such as joining: inside a group all of them run at the same time, a thread
// each. On communicators that do not block it goes on in the background; true: it does, or will.
bool submitJob(Communicator& communicator, std::function<void()> work);

}  // namespace xylem
