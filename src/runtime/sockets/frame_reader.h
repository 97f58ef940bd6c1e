#pragma once
// Puts frames together from bytes that come in pieces of any size. Memory is taken as they arrive, not
// because somebody announces them.
//
//   FrameReader reader;
//   while (!reader.take(frame, limit)) reader.arrived(read(reader.room()));

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace xylem {

enum class FrameKind : std::uint32_t {
  kNext = 1,     // root to rank: WireAddress of the next rank, or of all, beginning with it
  kReady = 2,    // rank to root: both neighbours are connected
  kGo = 3,       // root to rank: so are everybody's
  kData = 4,     // rank to rank: part of a collective call; `tag` says of which
  kError = 5,    // either: `code` and a sentence; the sender gives up
  kMessage = 6,  // rank to rank: what send() sent, with its tag
  kWhere = 7,    // rank to rank: who waits where (runtime/bootstrap/roll_call.h)
};

struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  std::int32_t code = 0;  // kError: a ResultCode
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(FrameHeader) == 24);

struct Frame {
  FrameHeader header;
  std::vector<std::byte> payload;
  std::string text() const { return {reinterpret_cast<const char*>(payload.data()), payload.size()}; }
};

// What is said about a frame that cannot be.
constexpr std::size_t kMostErrorBytes = 4096;

class FrameReader {
 public:
  // True, once, if a frame is complete. Throws if one of more than `limit` bytes is announced (errors:
  // kMostErrorBytes). After false there is room.
  bool take(Frame& frame, std::size_t limit);
  // Where the next bytes belong.
  std::span<std::byte> room();
  void arrived(std::size_t bytes) { received_ += bytes; }
  // Whether nothing of the next frame has come yet.
  bool between() const { return received_ == 0; }

 private:
  Frame incoming_;
  std::size_t received_ = 0;  // of header and payload together
};

}  // namespace xylem
