#pragma once
// What the kernel says of another process of this host.

#include <sys/types.h>

namespace xylem {

// Whether it is stopped (SIGSTOP, SIGTSTP). One that a debugger holds is not, nor one that is not there.
// Costs some ten microseconds.
bool processIsStopped(pid_t pid) noexcept;

}  // namespace xylem
