#pragma once
// Finds ranks of this host that wait for each other in a cycle, within a communicator or over several, and says
// so in words: for `xylem status`, which looks from outside, and for checked mode, in which a rank looks itself.
//
//   for (const WaitCycle& cycle : waitCycles(jobs)) puts(cycle.text().c_str());
//
// A rank waits for a peer of its communicator. If the peer waits there, too, its wait comes next. If it has not
// begun the call, whatever its process and device wait for in other communicators comes next: it called these
// first, and ranks must make their calls on several communicators in the same order.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/watch/host_records.h"

namespace xylem::comm {

// A rank that waits, and where.
struct WaitStep {
  const SeenJob* job;
  const SeenRank* rank;
  bool operator==(const WaitStep&) const = default;
};

// Each step waits for the next one, and the last for the first. It refers to the communicators that were
// searched.
struct WaitCycle {
  std::vector<WaitStep> steps;

  std::size_t communicators() const;
  // For several communicators `rank 0 (process 7) waits in communicator 0xa, in CALL, for rank 1 (process 8),
  // which waits in communicator 0xb, in CALL, for rank 0`, and what to do.
  std::string text() const;
};

// Every rank that is part of a cycle is in one of these.
std::vector<WaitCycle> waitCycles(std::span<const SeenJob> jobs);

// A cycle through this rank of this communicator.
std::optional<WaitCycle> waitCycleOf(std::span<const SeenJob> jobs, std::uint64_t communicator, int rank);

}  // namespace xylem::comm
