#pragma once
// The role of a rank of a RankPool: it reads a line, follows the command in it, and answers with a line.
// rank_role.cc lists the commands.

namespace xylem::testing {

// Streams for the lines.
constexpr int kControlFd = 3;

}  // namespace xylem::testing
