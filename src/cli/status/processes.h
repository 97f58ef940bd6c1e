#pragma once
// Processes with communicators, as seen from outside: their flight recorders, read through /proc, whether
// they run, are stuck or stopped.
//
//   for (const SeenProcess& process : seeProcesses({4711, 4712})) ...    // no ids: all of this user's

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/comm/watch/flight_reader.h"

namespace xylem::cli {

struct SeenProcess {
  pid_t pid = 0;
  std::string program;
  char state = '?';  // the kernel's letter: T is stopped, t too, by a debugger
  std::vector<FlightProcess> recorders;
  FlightMoment seen;

  bool stopped() const { return state == 'T' || state == 't'; }
};

// Throws for a process that is asked for by its id and is not there, cannot be looked into or has no
// communicators.
std::vector<SeenProcess> seeProcesses(const std::vector<pid_t>& ids);

}  // namespace xylem::cli
