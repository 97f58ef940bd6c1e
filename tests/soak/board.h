#pragma once
// What all ranks of the soak see, in memory that processes share: where each one is, the barrier between
// phases, ids of communicators, and what is counted.

#include <array>
#include <atomic>
#include <cstdint>

#include "soak/plan.h"

namespace xylem::soak {

struct RankState {
  alignas(64) std::atomic<std::uint64_t> beats{0};  // goes on while the rank does
  std::atomic<int> step{-1};
  std::atomic<int> comm{-1};
  std::atomic<const char*> doing{"starting"};  // a literal: the same address in all processes
};

struct Ids {
  std::atomic<int> phase{-1};  // that they are for
  std::array<ncclUniqueId, kMostIds> ids{};
  // Ranks that have come to the step that aborts the communicator.
  std::atomic<int> atAbort{0};
};

struct Board {
  std::atomic<int> phase{-1};
  std::atomic<bool> stop{false};
  std::atomic<bool> failed{false};  // somebody cannot go on
  std::array<RankState, kMostRanks> ranks;
  std::array<Ids, kMostComms> meetings;

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
