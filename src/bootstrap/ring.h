#pragma once
// The ranks of a communicator in a ring of TCP connections, for what they tell each other outside of the
// data: who they are, what they see, where to connect. Slow and simple; nothing here waits longer than
// XYLEM_TIMEOUT.
//
//   auto ring = Ring::join(id, rank, ranks, settings, log);
//   std::vector<PeerInfo> peers = ring->allGather(mine);
//   ring->barrier();
//
// A rank that fails says so to both neighbours, which pass it on; one that dies is noticed by both. Either
// way every call of every rank ends with an Error that names the rank.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bootstrap/frames.h"
#include "bootstrap/unique_id.h"
#include "core/deadline.h"
#include "core/log.h"
#include "core/settings.h"

namespace xylem {

class Ring {
 public:
  // Returns when every rank is connected.
  static std::unique_ptr<Ring> join(const UniqueId& id, int rank, int ranks, const Settings& settings,
                                    const Logger& log);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // One value of plain bytes from each rank, in the order of ranks.
  template <typename T>
  std::vector<T> allGather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(ranks_));
    all[static_cast<std::size_t>(rank_)] = mine;
    allGatherBlocks(std::as_writable_bytes(std::span(all)), sizeof(T));
    return all;
  }
  // As many bytes from each rank as it likes, up to `limit`.
  std::vector<std::vector<std::byte>> allGatherBytes(std::span<const std::byte> mine, std::size_t limit);
  void barrier() { allGather(char{0}); }

  // Throws if a neighbour has given up or is gone; otherwise returns at once. For whoever waits for something
  // else.
  void check();
  // Tells the neighbours why this rank gives up. Every later call fails.
  void abort(std::string_view reason) noexcept;

 private:
  Ring(int rank, int ranks, std::chrono::seconds timeout) : rank_(rank), ranks_(ranks), timeout_(timeout) {}
  friend class RingJoiner;

  void allGatherBlocks(std::span<std::byte> all, std::size_t blockBytes);
  // Sends to the next rank and receives exactly as many bytes as `in` holds from the previous one.
  void exchange(std::span<const std::byte> out, std::span<std::byte> in, const Deadline& deadline);
  // False if there is nothing yet.
  bool receiveBlock(std::span<std::byte> in);
  // Throws if the next thing that neighbour says is an error; false if it is gone.
  bool hearBadNews(FrameStream& stream, int neighbour);
  Error ended(int rank) const;
  int nextRank() const { return (rank_ + 1) % ranks_; }
  int previousRank() const { return (rank_ + ranks_ - 1) % ranks_; }

  int rank_;
  int ranks_;
  std::chrono::seconds timeout_;
  FrameStream next_;
  FrameStream previous_;
};

}  // namespace xylem
