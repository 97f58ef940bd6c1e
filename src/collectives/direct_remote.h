#pragma once
// One rank's part of a collective where buffers of others can only be copied from and to, by the kernel: it
// reduces its share of everybody's inputs into all outputs that there are, fetches what it needs from the
// others' inputs, or, as the root of a broadcast, brings them its share.
//
//   remote.start(work, rank, inputs, outputs, factors);
//   while (!remote.piece()) ...

#include <span>
#include <vector>

#include "collectives/direct_share.h"
#include "transport/peer_memory.h"

namespace xylem {

// A buffer of another rank, in this address space or in another one.
struct RemoteBuffer {
  std::byte* here = nullptr;  // null: `memory` gets at it
  PeerMemory* memory = nullptr;
  std::uint64_t address = 0;

  // `scratch`: where the bytes may be put.
  const std::byte* read(std::size_t offset, std::size_t bytes, std::byte* scratch) const;
  void copyTo(std::byte* out, std::size_t offset, std::size_t bytes) const;
  void copyFrom(const std::byte* data, std::size_t offset, std::size_t bytes) const;
};

class DirectRemote {
 public:
  // By rank; those of `rank` itself are in `work`. They stay until the next start.
  void start(const DirectWork& work, int rank, std::span<const RemoteBuffer> inputs,
             std::span<const RemoteBuffer> outputs, std::span<const Factor> factors);
  // Goes on; whether that was all.
  bool piece();

 private:
  bool reducePiece();
  bool broadcastPiece();
  bool gatherPiece();
  std::size_t brought() const;
  int ranks() const { return static_cast<int>(inputs_.size()); }
  std::size_t blockOf(int rank) const {
    return static_cast<std::size_t>(rank) * work_.count * work_.reduction.elementBytes;
  }

  DirectWork work_;
  int rank_ = 0;
  std::span<const RemoteBuffer> inputs_, outputs_;
  std::span<const Factor> factors_;
  std::size_t done_ = 0;  // elements of what is going on
  std::vector<std::byte> scratch_;
  std::vector<const std::byte*> sources_;
};

}  // namespace xylem
