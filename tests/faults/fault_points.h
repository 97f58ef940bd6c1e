#pragma once
// Points at which a process can be killed or stopped while it talks to other ranks: every message, call and
// connection that it sends or receives is one. This test program has its own send(2), recv(2) and so on,
// which count and then call the system's; the library knows nothing of it.
//
//   strikeAt(17, SIGKILL);           // at the 17th point from now on
//   ncclCommInitRank(...);           // does not return
//   faultPointsPassed()              // if it does: how many there were

#include <functional>

namespace xylem::testing {

// A point is before something is sent, or after something has arrived. Points are numbered from 1; 0 disarms.
void strikeAt(int point, int signal);
// Calls `action` when this thread reaches its point of that number.
void callAt(int point, std::function<void()> action);
int faultPointsPassed();

}  // namespace xylem::testing
