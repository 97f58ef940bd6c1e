#pragma once
// Names the ranks that hold up a rank, for the error of a wait that takes too long.
//
//   reason += lateRanksText(communicator, rank);

#include <cstdint>
#include <string>

namespace xylem::comm {

// The ranks that have not called the oldest operation that `rank` has under way, or called something else, and what
// they did last: `rank 1 has not called it; its last call: ...`. This host's ranks are looked at through their flight
// recorders. If none of them is late, it says for which rank this one waits. Empty if nothing is under way.
std::string lateRanksText(std::uint64_t communicator, int rank);

}  // namespace xylem::comm
