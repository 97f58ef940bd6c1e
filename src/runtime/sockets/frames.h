#pragma once
// Messages over an authenticated connection: frames of a header and a payload of bounded size.
//
//   FrameStream stream(std::move(socket));
//   stream.queue(FrameKind::kData, bytes);
//   stream.flush();                                    // sends what the socket takes; never waits
//   Frame frame;
//   if (stream.read(frame, limit) == FrameStream::Read::kFrame) ...

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::sockets {

enum class FrameKind : std::uint32_t {
  kNext = 1,     // root to rank: the WireAddress of the next rank, or of all ranks, starting with the next
  kReady = 2,    // rank to root: the sender is connected to both neighbours
  kGo = 3,       // root to rank: all ranks are
  kData = 4,     // rank to rank: part of a collective call; `tag` tells which
  kError = 5,    // either way: `code` and a sentence; the sender gives up
  kMessage = 6,  // rank to rank: a message of send(), with its tag
  kWhere = 7,    // rank to rank: which ranks wait where (runtime/bootstrap/wait_tracker.h)
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

constexpr std::size_t kMaxErrorBytes = 4096;

// Puts frames together from bytes that come in pieces of any size. It allocates memory as payload arrives: a
// large announced size alone costs nothing.
//
//   FrameReader reader;
//   while (!reader.take(frame, limit)) reader.arrived(read(reader.space()));
class FrameReader {
 public:
  // True, once per frame, if a frame is complete. Throws if a frame announces more than `limit` bytes
  // (errors: kMaxErrorBytes). After it has returned false, space() is not empty.
  bool take(Frame& frame, std::size_t limit);
  // Where the next bytes belong.
  std::span<std::byte> space();
  void arrived(std::size_t bytes) { received_ += bytes; }

 private:
  Frame incoming_;
  std::size_t received_ = 0;  // of header and payload together
};

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
  // After the last message: announces that nothing more comes (endWriting), then waits until the deadline at
  // most for the other end to close (awaitClose). Closing at once while bytes of the other end are unread
  // makes TCP reset the connection, and the last message may be lost.
  void endWriting() noexcept;
  void awaitClose(const Deadline& deadline) noexcept;

  // Throws if the other end announces more than `limit` bytes (errors: kMaxErrorBytes).
  Read read(Frame& frame, std::size_t limit);

 private:
  FileDescriptor socket_;
  std::vector<std::byte> outgoing_;
  std::size_t sent_ = 0;
  FrameReader reader_;
};

}  // namespace xylem::sockets
