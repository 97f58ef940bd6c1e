#pragma once
// Ring AllReduce on one channel: each chunk goes round the ring twice, once while every rank adds its part,
// once while every rank keeps the result. With n ranks, a rank sends 2(n-1)/n of its data, which is the least
// possible.
//
//   RingAllReduce ring;
//   ring.start({send, receive, count}, {position, ranks, &previous, &next}, reduction);
//   while (ring.step() != Progress::kDone) ...
//
// A large buffer is worked through in rounds of one chunk per rank. A chunk is a few slices, and a slice is
// what fits into a slot. The rank before the chunk's owner starts it, and the owner adds the last part: every
// rank receives the same bits.

#include <cstddef>

#include "collectives/primitives.h"
#include "collectives/reduction.h"
#include "device/task.h"

namespace xylem {

struct RingBuffers {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;  // may equal `send`
  std::size_t count = 0;         // elements
};

struct RingPlace {
  int position = 0;  // in the ring, 0 to ranks-1
  int ranks = 1;
  FifoReader* previous = nullptr;
  FifoWriter* next = nullptr;
};

class RingAllReduce {
 public:
  void start(const RingBuffers& buffers, const RingPlace& place, const Reduction& reduction);
  Progress step();
  // After step() said kWouldBlock.
  BlockedOn blockedOn() const { return blockedOn_; }

 private:
  void startRound();
  void startChunk();
  bool slice(Primitives& primitives, std::size_t first, std::size_t n);

  RingBuffers buffers_;
  RingPlace place_;
  Reduction reduction_;
  std::size_t sliceElements_ = 0;
  std::size_t roundStart_ = 0;     // elements before this round
  std::size_t chunkElements_ = 0;  // of this round's chunks; the last ones may be shorter or empty
  int stepIndex_ = 0;              // of 2n-1 in the round
  std::size_t chunkStart_ = 0;     // this step's chunk
  std::size_t chunkEnd_ = 0;
  std::size_t done_ = 0;  // how far into the chunk
  BlockedOn blockedOn_ = BlockedOn::kNothing;
};

// Elements of the share of `channel` when `count` elements are split over `channels`; `first` is where it
// starts.
struct ChannelShare {
  std::size_t first = 0;
  std::size_t count = 0;
};
ChannelShare channelShare(std::size_t count, std::size_t elementBytes, int channel, int channels);
// How many of at most `channels` are worth using for so many bytes.
int channelsFor(std::size_t bytes, int channels);

}  // namespace xylem
