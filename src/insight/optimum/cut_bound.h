#pragma once
// The smallest cut that every channel of a host crosses.
//
//   const Cut cut = smallestCut(system, Pattern::kRing);
//
// A ring visits all GPUs and comes back, in jobs of several hosts by way of the network: it crosses every cut
// between two GPUs, or between a GPU and the network, in both directions. A chain inside a host crosses in
// one direction; one that starts at a NET leads away from it.

#include <optional>

#include "insight/optimum/optimum.h"

namespace xylem {

// nullopt: nothing to be cut, as with one GPU alone.
std::optional<Cut> smallestCut(const System& system, Pattern pattern);

}  // namespace xylem
