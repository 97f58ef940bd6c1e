#pragma once
// Where a rank posts, for all others of its host, what it brings to an operation: the data itself if that is
// little, otherwise where its buffers lie. A communicator has one board per rank; that rank alone writes it.
//
//   Posting& posting = board.slot(number);             // mine
//   posting.count = ...; posting.number.store(number, std::memory_order_release);
//   if (theirs.slot(number).number.load(std::memory_order_acquire) == number) ...
//
// Operations are numbered from 1, over all ranks alike. The posting of operation s takes the place of that of
// s - kBoardSlots, so nobody posts before all others have left that one. Its data takes the room of s -
// roomsOf(bytes), in the same way: of large rooms there are few, so that they stay in the caches.
//
// Who gives up meanwhile says that it has withdrawn, and its buffers are its own again once nobody is on a
// Visit any more:
//
//   const Visit visit(mine);
//   if (!theirs.withdrawn()) ... their buffers

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace xylem {

constexpr std::size_t kBoardSlots = 8;
// The data of one posting: in its own line, in one of as many small rooms, or in one of few larger ones.
constexpr std::size_t kPostingBytes = 32;
constexpr std::size_t kSmallRoomBytes = std::size_t{4} << 10;
constexpr std::size_t kMediumRoomBytes = std::size_t{16} << 10;
constexpr std::size_t kMediumRooms = 4;
constexpr std::size_t kLargeRoomBytes = std::size_t{256} << 10;
constexpr std::size_t kLargeRooms = 2;
// How many operations with so much data can be under way.
constexpr std::size_t roomsOf(std::size_t bytes) {
  return bytes <= kSmallRoomBytes ? kBoardSlots : bytes <= kMediumRoomBytes ? kMediumRooms : kLargeRooms;
}

// Where a buffer lies: in this region of its owner's ShareableMemory, or elsewhere.
struct BufferPlace {
  static constexpr std::uint32_t kAddress = 0;  // an address, which only the owner's process understands
  static constexpr std::uint32_t kFirstRegion = 1;

  std::uint32_t region;
  std::uint64_t address;  // or offset
};

// One cache line, so that a small operation costs one transfer of it.
struct alignas(64) Posting {
  static constexpr std::uint8_t kScaled = 1;     // a pre-multiplied sum
  static constexpr std::uint8_t kReachable = 2;  // the others can reach this rank's buffers
  std::atomic<std::uint64_t> number;             // of the operation; written last
  std::uint64_t count;                           // elements, as the caller gave them
  // What was called, so that different calls are found.
  std::uint8_t collective, type, op;
  std::uint8_t flags;  // kScaled, kReachable

  std::int32_t root;
  std::array<std::byte, 8> factor;  // this rank's, of a pre-multiplied sum
  union {
    std::byte data[kPostingBytes];
    struct {
      BufferPlace input, output;
    } buffers;
  };
};
static_assert(sizeof(Posting) == 64);

struct Board {
  std::array<Posting, kBoardSlots> postings;
  // Up to which operation this rank is through with everybody else's postings and buffers.
  alignas(64) std::atomic<std::uint64_t> left;
  // 1 once this rank has given up: its buffers are no longer for the others.
  alignas(64) std::atomic<std::uint32_t> gaveUp;
  // 1 while this rank is in others' buffers. Apart, as only those who give up look.
  alignas(64) std::atomic<std::uint32_t> visiting;
  alignas(4096) std::byte smallRooms[kBoardSlots][kSmallRoomBytes];
  std::byte mediumRooms[kMediumRooms][kMediumRoomBytes];
  std::byte largeRooms[kLargeRooms][kLargeRoomBytes];

  Posting& slot(std::uint64_t number) { return postings[number % kBoardSlots]; }
  const Posting& slot(std::uint64_t number) const { return postings[number % kBoardSlots]; }
  // For `bytes`, at most kLargeRoomBytes.
  std::byte* room(std::uint64_t number, std::size_t bytes) {
    if (bytes <= kPostingBytes) return slot(number).data;
    if (bytes <= kSmallRoomBytes) return smallRooms[number % kBoardSlots];
    return bytes <= kMediumRoomBytes ? mediumRooms[number % kMediumRooms] : largeRooms[number % kLargeRooms];
  }
  const std::byte* room(std::uint64_t number, std::size_t bytes) const {
    return const_cast<Board*>(this)->room(number, bytes);
  }
  void withdraw() noexcept { gaveUp.store(1, std::memory_order_seq_cst); }
  bool withdrawn() const noexcept { return gaveUp.load(std::memory_order_seq_cst) != 0; }
  bool visits() const noexcept { return visiting.load(std::memory_order_seq_cst) != 0; }
};

// The owner of a board in the buffers of others. It looks whether they have withdrawn after it has said that
// it is there, they look whether it is there after they have withdrawn: one of both sees the other. Kept
// short, and never while its thread does anything else: they wait for its end.
class Visit {
 public:
  explicit Visit(Board& mine) : mine_(mine) { mine_.visiting.store(1, std::memory_order_seq_cst); }
  ~Visit() { mine_.visiting.store(0, std::memory_order_release); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Board& mine_;
};

}  // namespace xylem
