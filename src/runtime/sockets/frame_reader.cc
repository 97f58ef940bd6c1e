#include "runtime/sockets/frame_reader.h"

#include <algorithm>
#include <utility>

namespace xylem {
namespace {

// Memory for a message starts with this much and doubles as the message arrives.
constexpr std::size_t kFirstPiece = 1 << 16;

}  // namespace

std::span<std::byte> FrameReader::room() {
  if (received_ < sizeof(FrameHeader))
    return std::as_writable_bytes(std::span(&incoming_.header, 1)).subspan(received_);
  return std::span(incoming_.payload).subspan(received_ - sizeof(FrameHeader));
}

bool FrameReader::take(Frame& frame, std::size_t limit) {
  if (received_ < sizeof(FrameHeader)) return false;
  const std::size_t have = received_ - sizeof(FrameHeader);
  const std::uint64_t announced = incoming_.header.bytes;
  const std::size_t most = incoming_.header.kind == FrameKind::kError ? kMostErrorBytes : limit;
  if (announced > most)
    throw Error(ResultCode::kRemoteError, "a message of {} bytes is announced where at most {} are expected",
                announced, most);
  if (have == announced) {
    frame = std::move(incoming_);
    incoming_ = {};
    received_ = 0;
    return true;
  }
  if (have == incoming_.payload.size())
    incoming_.payload.resize(std::min<std::size_t>(announced, std::max(kFirstPiece, 2 * have)));
  return false;
}

}  // namespace xylem
