#pragma once
// The communicators of this host's processes as seen from outside: their flight recorders, read through /proc,
// and the ranks of each communicator that were found.
//
//   for (const SeenJob& job : jobsOf(seeProcesses({4711, 4712})))
//     for (const SeenRank& rank : job.seen) ...

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/comm/watch/record_reader.h"

namespace xylem::comm {

struct SeenProcess {
  pid_t pid = 0;
  std::string program;
  char state = '?';  // the kernel's letter; T: stopped by a signal, t: stopped by a debugger
  std::vector<ProcessRecord> recorders;
  ClockReading seen;

  bool stopped() const { return state == 'T' || state == 't'; }
};

// Reads the given processes, or all of this user's that have a communicator if there are no ids. Throws
// InputError for a given process that does not exist, cannot be read or has no communicator. With `leftOut`,
// those without one are named there, unless none has one.
std::vector<SeenProcess> seeProcesses(const std::vector<pid_t>& ids,
                                      std::vector<std::string>* leftOut = nullptr);

// A rank of a communicator.
struct SeenRank {
  RankRecord log;
  TickClock clock;
  pid_t pid = 0;
  std::string program, host;
  bool stopped = false;

  // The number of collectives called.
  std::uint64_t collectives() const;
  // Null if the rank has called nothing, or the recorder has no call left.
  const CallRecord* lastCall() const { return log.entries.empty() ? nullptr : &log.entries.back(); }
  // The oldest call that is neither done nor failed, or null.
  const CallRecord* current() const;
  const CallRecord* collective(std::uint64_t ordinal) const;
  // The length of the present wait; 0 if the rank does not wait.
  std::uint64_t waitNanoseconds() const;
  // Shorter waits are a normal part of an operation.
  bool stuck() const { return waitNanoseconds() >= kStuckNanoseconds; }

  static constexpr std::uint64_t kStuckNanoseconds = 500'000'000;
};

// A communicator.
struct SeenJob {
  std::uint64_t communicator = 0;
  int ranks = 1;
  std::vector<SeenRank> seen;  // in the order of ranks; ranks on other hosts are missing

  const SeenRank* find(int rank) const;
};

// The largest communicators come first.
std::vector<SeenJob> jobsOf(const std::vector<SeenProcess>& processes);

}  // namespace xylem::comm
