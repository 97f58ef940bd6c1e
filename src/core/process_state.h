#pragma once
// The state of another process of this host.

#include <sys/types.h>

namespace xylem {

// True if the process is stopped (SIGSTOP, SIGTSTP); false if a debugger holds it or it does not exist. Takes
// some ten microseconds.
bool processIsStopped(pid_t pid) noexcept;
// True if the process has ended, also if its parent has not asked for its exit status yet.
bool processIsGone(pid_t pid) noexcept;

}  // namespace xylem
