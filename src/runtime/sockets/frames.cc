#include "runtime/sockets/frames.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "runtime/sockets/socket.h"

namespace xylem {
void FrameStream::queue(FrameKind kind, std::span<const std::byte> payload, ResultCode code,
                        std::uint64_t tag) {
  if (flushed()) {
    outgoing_.clear();
    sent_ = 0;
  }
  FrameHeader header;
  header.kind = kind;
  header.code = static_cast<std::int32_t>(code);
  header.tag = tag;
  header.bytes = payload.size();
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  outgoing_.insert(outgoing_.end(), bytes, bytes + sizeof header);
  outgoing_.insert(outgoing_.end(), payload.begin(), payload.end());
}

void FrameStream::queueError(ResultCode code, std::string_view text) {
  text = text.substr(0, kMostErrorBytes);
  queue(FrameKind::kError, std::as_bytes(std::span(text.data(), text.size())), code);
}

bool FrameStream::flush() noexcept {
  while (!flushed()) {
    const int sent = sendSome(fd(), std::span(outgoing_).subspan(sent_));
    if (sent < 0) return false;
    if (sent == 0) break;
    sent_ += static_cast<std::size_t>(sent);
  }
  return true;
}

void FrameStream::flushWithin(int milliseconds) noexcept {
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(milliseconds));
  while (open() && flush() && !flushed() && !deadline.passed()) {
    pollfd fd{socket_.get(), POLLOUT, 0};
    poll(&fd, 1, deadline.pollMilliseconds());
  }
}

void FrameStream::endWriting() noexcept {
  if (open()) shutdown(fd(), SHUT_WR);
}

void FrameStream::awaitClose(const Deadline& deadline) noexcept {
  std::byte ignored[4096];
  while (open()) {
    const int moved = receiveSome(fd(), ignored);
    if (moved < 0 || deadline.passed()) break;
    if (moved > 0) continue;
    pollfd wait{socket_.get(), POLLIN, 0};
    poll(&wait, 1, deadline.pollMilliseconds());
  }
  close();
}

FrameStream::Read FrameStream::read(Frame& frame, std::size_t limit) {
  try {
    while (!reader_.take(frame, limit)) {
      const int moved = receiveSome(fd(), reader_.room());
      if (moved == 0) return Read::kNothing;
      if (moved < 0) return Read::kClosed;
      reader_.arrived(static_cast<std::size_t>(moved));
    }
  } catch (const Error& error) {
    throw Error(error.code(), "from {}: {}", remoteText(fd()), error.what());
  }
  return Read::kFrame;
}

FrameStream::Read FrameStream::peek(FrameHeader& header) noexcept {
  if (!reader_.between()) return Read::kNothing;  // in the middle of a frame: somebody is reading it
  std::byte bytes[sizeof(FrameHeader)];
  const int seen = peekSome(fd(), bytes);
  if (seen < 0) return Read::kClosed;
  if (seen < static_cast<int>(sizeof bytes)) return Read::kNothing;
  std::memcpy(&header, bytes, sizeof bytes);
  return Read::kFrame;
}

}  // namespace xylem
