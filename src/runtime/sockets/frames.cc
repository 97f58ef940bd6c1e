#include "runtime/sockets/frames.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/sockets/socket.h"

namespace xylem::sockets {
namespace {

// The memory of a payload starts with this many bytes and doubles as the payload arrives.
constexpr std::size_t kFirstPiece = 1 << 16;

}  // namespace

std::span<std::byte> FrameReader::space() {
  if (received_ < sizeof(FrameHeader))
    return std::as_writable_bytes(std::span(&incoming_.header, 1)).subspan(received_);
  return std::span(incoming_.payload).subspan(received_ - sizeof(FrameHeader));
}

bool FrameReader::take(Frame& frame, std::size_t limit) {
  if (received_ < sizeof(FrameHeader)) return false;
  const std::size_t have = received_ - sizeof(FrameHeader);
  const std::uint64_t announced = incoming_.header.bytes;
  const std::size_t most = incoming_.header.kind == FrameKind::kError ? kMaxErrorBytes : limit;
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
  text = text.substr(0, kMaxErrorBytes);
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
      const int moved = receiveSome(fd(), reader_.space());
      if (moved == 0) return Read::kNothing;
      if (moved < 0) return Read::kClosed;
      reader_.arrived(static_cast<std::size_t>(moved));
    }
  } catch (const Error& error) {
    throw Error(error.code(), "from {}: {}", remoteText(fd()), error.what());
  }
  return Read::kFrame;
}

}  // namespace xylem::sockets
