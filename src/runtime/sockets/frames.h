#pragma once
// Messages over an authenticated connection: a header, and as many bytes as it says, which is bounded
// (runtime/sockets/frame_reader.h).
//
//   FrameStream stream(std::move(socket));
//   stream.queue(FrameKind::kData, bytes);
//   stream.flush();                                    // as far as it goes; never waits
//   Frame frame;
//   if (stream.read(frame, limit) == FrameStream::Read::kFrame) ...

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/error.h"
#include "core/file_descriptor.h"
#include "runtime/sockets/frame_reader.h"

namespace xylem {

class FrameStream {
 public:
  enum class Read { kNothing, kFrame, kClosed };

  FrameStream() = default;
  explicit FrameStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  bool open() const { return static_cast<bool>(socket_); }
  void close() { socket_.reset(); }

  void queue(FrameKind kind, std::span<const std::byte> payload = {}, ResultCode code = ResultCode::kSuccess,
             std::uint64_t tag = 0);
  void queueError(ResultCode code, std::string_view text);
  // False if the connection is closed or broken.
  bool flush() noexcept;
  bool flushed() const { return sent_ == outgoing_.size(); }
  // Flushes for at most this long.
  void flushWithin(int milliseconds) noexcept;
  // After the last words: says that nothing more comes, then waits, at most until the deadline, for the other
  // end to close. Closing at once would discard what it has sent meanwhile, and with it, TCP being what it
  // is, our last words.
  void endWriting() noexcept;
  void awaitClose(const Deadline& deadline) noexcept;

  // Throws if the other end announces more than `limit` bytes (errors: kMostErrorBytes).
  Read read(Frame& frame, std::size_t limit);
  // Without reading: whether it is closed, or an error is next.
  Read peek(FrameHeader& header) noexcept;

 private:
  FileDescriptor socket_;
  std::vector<std::byte> outgoing_;
  std::size_t sent_ = 0;
  FrameReader reader_;
};

}  // namespace xylem
