#pragma once
// State that all ranks of the soak share, in memory that processes map: the place of each rank, the barrier
// between phases, ids of communicators, and counters.

#include <array>
#include <atomic>
#include <cstdint>

#include "soak/plan.h"

namespace xylem::soak {

struct RankState {
  alignas(64) std::atomic<std::uint64_t> beats{0};  // increases while the rank makes progress
  std::atomic<int> step{-1};
  std::atomic<int> comm{-1};
  std::atomic<const char*> doing{"starting"};  // a literal: the same address in all processes
};

struct Ids {
  std::atomic<int> phase{-1};  // of the communicator that they are for
  std::array<ncclUniqueId, kMaxIds> ids{};
  // Number of ranks that have come to the step that aborts the communicator.
  std::atomic<int> atAbort{0};
};

struct Board {
  std::atomic<int> phase{-1};
  std::atomic<bool> stop{false};
  std::atomic<bool> failed{false};  // a rank cannot go on
  std::array<RankState, kMaxRanks> ranks;
  std::array<Ids, kMaxComms> meetings;

  std::atomic<std::uint64_t> phases{0}, comms{0}, operations{0}, bytes{0}, aborts{0}, wrong{0};

  // Waits for all ranks.
  void barrier(int ranks);

 private:
  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> round_{0};
};

// Lives until the process ends; children of fork share it.
Board& makeBoard();

}  // namespace xylem::soak
