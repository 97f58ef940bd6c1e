#include "collectives/ring_all_reduce.h"

#include <algorithm>

namespace xylem {
namespace {

// Slices are bounded so that one stays in a core's cache between being written and being read.
constexpr std::size_t kLargestSliceBytes = std::size_t{128} << 10;
// All ranks start a round by sending a whole chunk before anybody receives: it must leave slots free.
constexpr std::size_t kSlicesPerChunk = 2;
static_assert(kSlicesPerChunk < kFifoSlots);
// Chunks start at multiples of a cache line, so that no line is written by two ranks' turns.
constexpr std::size_t kChunkAlignBytes = 64;
// Less than this per channel is not worth another channel.
constexpr std::size_t kLeastBytesPerChannel = std::size_t{64} << 10;

std::size_t divideUp(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

}  // namespace

ChannelShare channelShare(std::size_t count, std::size_t elementBytes, int channel, int channels) {
  const std::size_t grain = kChunkAlignBytes / elementBytes;
  const std::size_t share = divideUp(divideUp(count, static_cast<std::size_t>(channels)), grain) * grain;
  const std::size_t first = std::min(count, static_cast<std::size_t>(channel) * share);
  return {first, std::min(share, count - first)};
}

int channelsFor(std::size_t bytes, int channels) {
  const std::size_t useful = std::max<std::size_t>(1, bytes / kLeastBytesPerChannel);
  return static_cast<int>(std::min<std::size_t>(useful, static_cast<std::size_t>(channels)));
}

void RingAllReduce::start(const RingBuffers& buffers, const RingPlace& place, const Reduction& reduction) {
  buffers_ = buffers;
  place_ = place;
  reduction_ = reduction;
  roundStart_ = 0;
  if (place_.ranks == 1) return;
  sliceElements_ = std::min(place_.next->slotBytes(), kLargestSliceBytes) / reduction.elementBytes;
  startRound();
}

void RingAllReduce::startRound() {
  const std::size_t grain = kChunkAlignBytes / reduction_.elementBytes;
  const std::size_t fair = divideUp(buffers_.count - roundStart_, static_cast<std::size_t>(place_.ranks));
  chunkElements_ = std::min(kSlicesPerChunk * sliceElements_, divideUp(fair, grain) * grain);
  stepIndex_ = 0;
  startChunk();
}

void RingAllReduce::startChunk() {
  const int n = place_.ranks;
  // Step 0 starts the chunk of the rank before this one; each later step handles the one before that.
  const int chunk = ((place_.position - 1 - stepIndex_) % n + n) % n;
  chunkStart_ = std::min(buffers_.count, roundStart_ + static_cast<std::size_t>(chunk) * chunkElements_);
  chunkEnd_ = std::min(buffers_.count, chunkStart_ + chunkElements_);
  done_ = 0;
}

bool RingAllReduce::slice(Primitives& primitives, std::size_t first, std::size_t n) {
  const std::byte* own = buffers_.send + first * reduction_.elementBytes;
  std::byte* out = buffers_.receive + first * reduction_.elementBytes;
  const int last = 2 * place_.ranks - 2;
  if (stepIndex_ == 0) return primitives.send(own, n);
  if (stepIndex_ < place_.ranks - 1) return primitives.recvReduceSend(own, n);
  if (stepIndex_ == place_.ranks - 1) return primitives.recvReduceCopySend(own, out, n);
  if (stepIndex_ < last) return primitives.recvCopySend(out, n);
  return primitives.recv(out, n);
}

Progress RingAllReduce::step() {
  if (place_.ranks == 1) {
    if (buffers_.send != buffers_.receive && buffers_.count > 0)
      std::memcpy(buffers_.receive, buffers_.send, buffers_.count * reduction_.elementBytes);
    return Progress::kDone;
  }
  Primitives primitives(*place_.previous, *place_.next, reduction_);
  bool advanced = false;
  while (roundStart_ < buffers_.count) {
    while (chunkStart_ + done_ < chunkEnd_) {
      const std::size_t n = std::min(sliceElements_, chunkEnd_ - chunkStart_ - done_);
      if (!slice(primitives, chunkStart_ + done_, n)) {
        blockedOn_ = primitives.blockedOn();
        return advanced ? Progress::kAdvanced : Progress::kWouldBlock;
      }
      done_ += n;
      advanced = true;
    }
    if (++stepIndex_ <= 2 * place_.ranks - 2) {
      startChunk();
    } else {
      roundStart_ += static_cast<std::size_t>(place_.ranks) * chunkElements_;
      if (roundStart_ < buffers_.count) startRound();
    }
  }
  return Progress::kDone;
}

}  // namespace xylem
