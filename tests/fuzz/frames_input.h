#pragma once
// One input of the frame fuzzer: the bytes come over an authenticated connection in pieces, frames are put
// together from them, and each is read as the bootstrap reads it. Memory is taken only for what has come, and
// what is malformed is an Error.
//
//   feedFrames(bytes);   // true if there was a frame and nothing was wrong

#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/bootstrap/wait_tracker.h"
#include "runtime/sockets/frames.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

inline void readFrame(const sockets::Frame& frame) {
  require(frame.payload.size() == frame.header.bytes);
  if (frame.header.kind == sockets::FrameKind::kNext) {
    sockets::WireAddress wire;
    if (frame.payload.size() != sizeof wire) throw Error(ResultCode::kInternalError, "not an address");
    std::memcpy(&wire, frame.payload.data(), sizeof wire);
    const sockets::SocketAddress address = sockets::SocketAddress::fromWire(wire);
    require(sockets::SocketAddress::fromWire(address.toWire()).text() == address.text());
  } else if (frame.header.kind == sockets::FrameKind::kWhere) {
    bootstrap::WaitTracker call, again;
    call.note(3, "here", -1);
    call.merge(frame.payload);
    again.merge(call.bytes());
    require(!again.merge(call.bytes()) && again.size() == call.size());
    const int expected[] = {0, 1, 2, 3, -1};
    require(!call.report("here", expected).empty());
  } else if (frame.header.kind == sockets::FrameKind::kError) {
    require(frame.text().size() <= sockets::kMaxErrorBytes);
  }
}

inline bool feedFrames(std::string_view bytes) {
  Input input(bytes);
  const std::size_t limit = std::size_t{16} * input.take<std::uint16_t>();
  const std::size_t most = 1 + input.take<std::uint8_t>();
  sockets::FrameReader reader;
  std::size_t come = 0;
  bool any = false;
  try {
    for (;;) {
      sockets::Frame frame;
      while (reader.take(frame, limit)) {
        any = true;
        readFrame(frame);
      }
      const std::span<std::byte> space = reader.space();
      require(!space.empty() && space.size() <= (std::size_t{1} << 16) + 2 * come);
      const auto piece = input.piece(std::min(space.size(), most));
      if (piece.empty()) return any;
      std::copy(piece.begin(), piece.end(), space.begin());
      reader.arrived(piece.size());
      come += piece.size();
    }
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
