#pragma once
// Places inside of an operation at which a process can be killed or stopped: the library's fault points
// (core/fault_point.h), which only this test program has.
//
//   strikeIn("work", 2, SIGSTOP);    // the second time that this process combines elements of all ranks
//
//   post   before a rank tells the others where its buffers are
//   work   in others' buffers, before a piece
//   wait   after some milliseconds without anything that it could do
//   end    after its own part, and that of all others

#include <string>

namespace xylem::testing {

// Strikes at the `time`th time from now on. Returns false if there is no such place.
bool strikeIn(const std::string& place, int time, int signal);

}  // namespace xylem::testing
