#pragma once
// Finds out what is wrong with communicators, from the last calls of their ranks.
//
//   for (const comm::SeenJob& job : comm::jobsOf(comm::seeProcesses({})))
//     for (const Finding& finding : findingsOf(job)) ...

#include <span>
#include <string>
#include <vector>

#include "runtime/comm/watch/host_records.h"

namespace xylem::cli {

enum class FindingKind {
  kStopped,    // a process is stopped
  kFailed,     // an operation failed
  kNotJoined,  // ranks make the communicator, and wait for some that were not found here
  kJoining,    // ranks make the communicator and wait, though all were found
  kDiffer,     // ranks call different operations
  kNotCalled,  // a rank has not called the operation that others wait in
  kNotBegun,   // a rank has called it, but its stream has not reached it
  kUnseen,     // a rank waits for one that was not found here
  kCycle,      // ranks wait for each other
};
const char* name(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::vector<int> ranks;  // the ranks that cause it, or the members of the cycle
  std::string text;
};

// Causes before effects; effects of a known cause are left out.
std::vector<Finding> findingsOf(const comm::SeenJob& job);
// Ranks that wait for each other over several communicators: the findings of each of `jobs`, in their order.
std::vector<std::vector<Finding>> findingsAcross(std::span<const comm::SeenJob> jobs);

}  // namespace xylem::cli
