#pragma once
// Many small collectives of one group in a single exchange: every rank posts where the buffers of all of them
// lie, and then does its share of them, each as a whole, on everybody's buffers.
//
//   batch.start(rank, works);                          // the same collectives on all ranks
//   while (!batch.piece(others)) ...                   // once their lists are there
//
// What belongs to it is the same on all ranks: it depends on nothing but the calls.

#include <span>
#include <vector>

#include "runtime/collectives/direct_share.h"
#include "runtime/transport/local/board.h"
#include "runtime/transport/local/peer_memory.h"

namespace xylem {

// Where one rank has its buffers of one collective.
struct BatchEntry {
  std::uint32_t inputRegion, outputRegion;  // as in BufferPlace
  std::uint64_t input, output;
};
static_assert(sizeof(BatchEntry) == 24);

class DirectBatch {
 public:
  static constexpr std::size_t kMostWorks = (std::size_t{32} << 10) / sizeof(BatchEntry);
  // Fewer are done one by one.
  static constexpr std::size_t kLeastWorks = 3;
  // Whether a collective may be in a batch.
  static bool takes(DirectKind kind, std::size_t bytes, bool scaled, int ranks);

  // The works must stay until the end.
  void start(int rank, int ranks, std::span<const DirectWork> works);
  std::size_t size() const { return works_.size(); }
  std::size_t roomBytes() const { return size() * sizeof(BatchEntry); }
  const DirectWork& work(std::size_t index) const { return works_[index]; }
  // Differs between ranks that call different things.
  std::uint64_t signature() const { return signature_; }

  // By rank; nothing for this rank itself.
  struct Other {
    const BatchEntry* entries = nullptr;
    PeerMemory* memory = nullptr;
  };
  // Does its share on these, some at a time; whether that was all.
  bool piece(std::span<const Other> others);

 private:
  void perform(const DirectWork& work, std::size_t index, std::span<const Other> others);
  void combine(const DirectWork& work, std::size_t offset, std::span<std::byte* const> out);

  int rank_ = 0;
  std::span<const DirectWork> works_;
  std::uint64_t signature_ = 0;
  std::size_t next_ = 0, end_ = 0;  // this rank's
  // Of one collective, by rank:
  std::vector<const std::byte*> inputs_, sources_;
  std::vector<std::byte*> outputs_, places_;
  std::vector<Factor> factors_;
};

}  // namespace xylem
