#pragma once
// What a rank of a RankPool does: it reads a line, does what that says, and answers with a line. The words
// are in rank_role.cc.

namespace xylem::testing {

// Where the lines come from and go to.
constexpr int kControlFd = 3;

}  // namespace xylem::testing
