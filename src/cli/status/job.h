#pragma once
// From processes to communicators: the ranks of each that were seen, and what is wrong with it.
//
//   for (const SeenJob& job : jobsOf(processes))
//     for (const Finding& finding : findingsOf(job)) ...

#include <string>
#include <vector>

#include "cli/status/processes.h"

namespace xylem::cli {

struct SeenRank {
  FlightLog log;
  FlightClock clock;
  pid_t pid = 0;
  std::string program, host;
  bool stopped = false;

  // Collectives called so far.
  std::uint64_t collectives() const;
  // Null if it has called nothing, or nothing that is still remembered.
  const FlightEntry* lastCall() const { return log.entries.empty() ? nullptr : &log.entries.back(); }
  // The oldest call that is neither done nor failed.
  const FlightEntry* current() const;
  const FlightEntry* collective(std::uint64_t ordinal) const;
  // For how long it has waited now; 0 if it does not. What is over in less than kStuckNanoseconds is how
  // things are while work goes on.
  std::uint64_t waitNanoseconds() const;
  bool stuck() const { return waitNanoseconds() >= kStuckNanoseconds; }

  static constexpr std::uint64_t kStuckNanoseconds = 500'000'000;
};

// One communicator.
struct SeenJob {
  std::uint64_t communicator = 0;
  int ranks = 1;
  std::vector<SeenRank> seen;  // by rank

  const SeenRank* find(int rank) const;
};

std::vector<SeenJob> jobsOf(const std::vector<SeenProcess>& processes);

enum class FindingKind {
  kStopped,    // a process does not run
  kFailed,     // an operation failed
  kDiffer,     // ranks call different operations
  kNotCalled,  // a rank has not called what others wait in
  kNotBegun,   // it has, but its stream has not come to it
  kUnseen,     // somebody waits for a rank that was not looked at
  kCycle,      // ranks wait for each other
};
const char* name(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::vector<int> ranks;  // whose fault it is, or who is in it
  std::string text;
};

// The cause first: what others only follow from is left out where that is known.
std::vector<Finding> findingsOf(const SeenJob& job);

}  // namespace xylem::cli
