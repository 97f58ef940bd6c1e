#pragma once
// Shared slots through which the ranks of a host post operations to each other. Each rank of a communicator
// has one mailbox. It alone writes it; all others read it. For each operation the rank posts a
// descriptor: what was called and, if the data is short, the data itself, otherwise where its buffers are.
//
//   Descriptor& descriptor = mine.slot(number);                                  // post
//   descriptor.call = ...; descriptor.number.store(number, std::memory_order_release);
//   if (theirs.slot(number).number.load(std::memory_order_acquire) == number) ...   // read another rank's
//
// Operations are numbered from 1, alike on all ranks. The descriptor of operation s takes the slot of
// operation s - kMailboxSlots, so no rank posts s before all others have left that operation. Little staged data
// works the same way, but there are fewer areas of some kinds, so that they stay in the caches: operation s
// takes the area of operation s - areasOf(staging). More data goes round a ring (collectives/staging_ring.h).
//
// A rank that gives up withdraws its mailbox. Its buffers belong to it alone again once no other rank is
// inside a Visit, which is the guard of a rank that uses others' buffers:
//
//   const Visit visit(mine);
//   if (!theirs.withdrawn()) ...                                                 // use their buffers

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/buffer_place.h"

namespace xylem::transport {

// A root may run this many operations ahead.
constexpr std::size_t kMailboxSlots = 32;
// Data of up to kFirstLineBytes is inside the descriptor, in the line that tells of the operation. So is data of up to kInlineBytes, in further
// lines, if it would be staged anyway. Other staged data is in an area of one of three kinds, or in the ring.
constexpr std::size_t kInlineBytes = 224, kFirstLineBytes = 32;
constexpr std::size_t kSmallStagingBytes = std::size_t{4} << 10;
constexpr std::size_t kSmallStagingAreas = 8;
// Data that goes one way, from a root or to one, has more areas instead: the ranks that write run ahead. Little of it has many, close to
// each other: what a rank writes then has not been read by others just before, and it waits less for the lines. More data has areas in pages
// of their own: processors fetch the following lines of a page ahead, also those that a rank is about to write.
constexpr std::size_t kLittleStagingBytes = 512;
constexpr std::size_t kLittleStagingAreas = 32;
constexpr std::size_t kManyStagingBytes = kSmallStagingBytes;
constexpr std::size_t kManyStagingAreas = 32;
// Where lines that others have read are in the second-level caches, writing them again takes longer than where they have fallen out of
// these. So more data goes round this ring, or the first CopyChoices::cycle bytes of it, and never takes more than kMostStaged at once.
constexpr std::size_t kMostStaged = std::size_t{256} << 10;
// The data of an operation never overlaps that of the next one.
constexpr std::size_t kLeastCycle = 3 * kMostStaged;
constexpr std::size_t kStagingRingBytes = std::size_t{4} << 20;
// This many operations that brought data to a rank may be over there and not be counted in `left` yet (Meeting::leaveOneWay).
constexpr std::size_t kMostUntold = 7;
// kNone: nothing is staged.
enum class StagingKind { kNone, kSmall, kLittle, kMany, kRing };
// Where this many bytes of an operation are staged, at most kMostStaged; those of more than `most` in the ring. All ranks have to come to
// the same.
constexpr StagingKind stagingFor(std::size_t bytes, bool oneWay = false,
                                 std::size_t most = kSmallStagingBytes) {
  if (bytes > most) return StagingKind::kRing;
  if (oneWay && bytes <= kLittleStagingBytes) return StagingKind::kLittle;
  if (oneWay) return StagingKind::kMany;
  return StagingKind::kSmall;
}
// How many operations whose data is staged there can be under way; in the ring there may be space for fewer.
constexpr std::size_t areasOf(StagingKind staging) {
  switch (staging) {
    case StagingKind::kSmall:
      return kSmallStagingAreas;
    case StagingKind::kLittle:
      return kLittleStagingAreas;
    case StagingKind::kMany:
      return kManyStagingAreas;
    case StagingKind::kNone:
    case StagingKind::kRing:
      return kMailboxSlots;
  }
  return kMailboxSlots;
}

// The call of a rank, as it tells the others.
struct PostedCall {
  static constexpr std::uint8_t kScaled = 1;     // the operation is a pre-multiplied sum
  static constexpr std::uint8_t kReachable = 2;  // the other ranks can map this rank's buffers
  static constexpr std::uint8_t kReadable = 4;   // the kernel lets other processes read this rank's buffers
  // The next operation of about this size reads through the kernel: one rank tells all others.
  static constexpr std::uint8_t kReadsNext = 8;
  static constexpr std::uint8_t kAdmitsReaders =
      16;  // the kernel lets the other ranks read this rank's process
  // The time of this operation does not tell how long its way takes, as this rank has put memory into huge pages before.
  static constexpr std::uint8_t kTellsNothing = 32;
  // All ranks write results on mapped buffers past the caches: one rank tells all others.
  static constexpr std::uint8_t kStreams = 64;

  std::uint64_t count = 0;  // elements, as the caller gave them
  // So that ranks find out if they called different operations.
  std::uint8_t function = 0, type = 0, op = 0;
  std::uint8_t flags = 0;  // kScaled and the others
  std::int32_t root = 0;
  std::array<std::byte, 8> factor{};  // this rank's factor of a pre-multiplied sum

  // Whether both are calls of the same operation. Each rank has flags of its own, all but kScaled.
  bool isSame(const PostedCall& other) const {
    const std::uint8_t flagsThatDiffer = flags ^ other.flags;
    return count == other.count && function == other.function && type == other.type && op == other.op &&
           root == other.root && (flagsThatDiffer & kScaled) == 0;
  }
};

// A few bytes are in its first line, so that such an operation transfers one line per rank. Descriptors are whole pairs of lines: processors
// fetch lines in pairs, and a rank that looks at one descriptor must not take the next one away from the rank that writes it.
struct alignas(128) Descriptor {
  std::atomic<std::uint64_t> number;  // of the operation; stored last
  PostedCall call;
  union {
    std::byte data[kInlineBytes];
    struct {
      BufferPlace input, output;
    } buffers;
  };
};
static_assert(sizeof(Descriptor) == 256 && offsetof(Descriptor, data) + kFirstLineBytes == 64);

struct Mailbox {
  std::array<Descriptor, kMailboxSlots> descriptors;
  // The last operation in which this rank no longer needs the others' descriptors and buffers, or one of kMostUntold before it.
  alignas(64) std::atomic<std::uint64_t> left;
  // 1 once this rank has given up: the others must not begin to use its buffers.
  alignas(64) std::atomic<std::uint32_t> gaveUp;
  // 1 while this rank uses others' buffers. In a line of its own, as only ranks that give up load it.
  alignas(64) std::atomic<std::uint32_t> visiting;
  alignas(4096) std::byte smallAreas[kSmallStagingAreas][kSmallStagingBytes];
  std::byte littleAreas[kLittleStagingAreas][kLittleStagingBytes];
  std::byte manyAreas[kManyStagingAreas][kManyStagingBytes];
  std::byte ring[kStagingRingBytes];
  // Counts operations, for ranks that time how long the line takes to come (choices/core_distance.h). In a page of its own: processors fetch
  // lines of a page ahead, and it would be there before it is loaded.
  alignas(4096) std::atomic<std::uint32_t> beat;

  Descriptor& slot(std::uint64_t number) { return descriptors[number % kMailboxSlots]; }
  const Descriptor& slot(std::uint64_t number) const { return descriptors[number % kMailboxSlots]; }
  // Memory for the staged data of an operation, but where it is in the ring. Null for kNone.
  std::byte* stagingArea(std::uint64_t number, StagingKind staging) {
    switch (staging) {
      case StagingKind::kSmall:
        return smallAreas[number % kSmallStagingAreas];
      case StagingKind::kLittle:
        return littleAreas[number % kLittleStagingAreas];
      case StagingKind::kMany:
        return manyAreas[number % kManyStagingAreas];
      case StagingKind::kRing:
        return ring;
      case StagingKind::kNone:
        break;
    }
    return nullptr;
  }
  const std::byte* stagingArea(std::uint64_t number, StagingKind staging) const {
    return const_cast<Mailbox*>(this)->stagingArea(number, staging);
  }

  void withdraw() noexcept { gaveUp.store(1, std::memory_order_seq_cst); }
  bool withdrawn() const noexcept { return gaveUp.load(std::memory_order_seq_cst) != 0; }
  bool visits() const noexcept { return visiting.load(std::memory_order_seq_cst) != 0; }
};

// Marks the owner of a mailbox as using others' buffers. The visitor stores `visiting`, then checks whether
// the others have withdrawn; a rank that gives up withdraws, then checks `visiting`. So at least one of the
// two sees the other. Keep visits short, and let the thread do nothing else meanwhile: ranks that give up
// wait for the end.
class Visit {
 public:
  explicit Visit(Mailbox& mine) : mine_(mine) { mine_.visiting.store(1, std::memory_order_seq_cst); }
  ~Visit() { mine_.visiting.store(0, std::memory_order_release); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Mailbox& mine_;
};

}  // namespace xylem::transport
