#pragma once
// Places inside of an operation at which a process can be killed or stopped: functions of the library that
// the linker lets go through this test program first (--wrap). The library knows nothing of it.
//
//   strikeIn("work", 2, SIGSTOP);    // the second time that this process combines elements of all ranks
//
//   post   before a rank tells the others where its buffers are
//   work   in others' buffers, before a piece
//   wait   after some milliseconds without anything that it could do
//   end    after its own part, and everybody else's

#include <string>

namespace xylem::testing {

// The `time`th time from now on. False if there is no such place.
bool strikeIn(const std::string& place, int time, int signal);

}  // namespace xylem::testing
