#include "runtime/transport/session/message_stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/sockets/frames.h"
#include "runtime/sockets/socket.h"
#include "runtime/transport/session/unix_socket.h"

namespace xylem::transport {
namespace {

FileDescriptor duplicate(int fd) { return FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

class LocalMessages : public MessageStream {
 public:
  explicit LocalMessages(FileDescriptor socket) : socket_(std::move(socket)) {}

  int fd() const override { return socket_.get(); }
  void queue(const PeerMessage& message, int fd) override {
    std::vector<std::byte> bytes = serialize(message);
    if (unsent_.empty() && sent(bytes, fd)) return;
    FileDescriptor copy;
    if (fd >= 0 && !(copy = duplicate(fd)))
      throw Error(ResultCode::kSystemError, "cannot hand over memory: {}", errnoText(errno));
    unsent_.push_back({std::move(bytes), std::move(copy)});
  }
  bool flush() noexcept override {
    while (!unsent_.empty() && sent(unsent_.front().bytes, unsent_.front().fd.get())) unsent_.pop_front();
    return !gone_;
  }
  bool flushed() const override { return unsent_.empty(); }
  Read read(PeerMessage& message) override {
    const std::optional<std::size_t> next = nextMessageBytes(fd());
    if (!next) return Read::kNothing;
    if (*next > kMaxPeerMessageBytes)
      throw Error(ResultCode::kRemoteError, "a message of {} bytes is none of a session", *next);
    std::vector<std::byte> bytes(*next);
    std::optional<ReceivedMessage> received = receiveMessage(fd(), bytes.data(), bytes.size());
    if (!received) return Read::kNothing;
    if (received->bytes == 0) return Read::kClosed;
    message = parseMessage(bytes);
    message.fd = std::move(received->fd);
    return Read::kMessage;
  }
  void endWriting() noexcept override { shutdown(fd(), SHUT_WR); }

 private:
  struct Unsent {
    std::vector<std::byte> bytes;
    FileDescriptor fd;
  };
  // Returns whether the message is over: sent, or lost with the connection.
  bool sent(std::span<const std::byte> bytes, int with) noexcept {
    if (gone_) return true;
    const SendOutcome outcome = sendMessage(fd(), bytes.data(), bytes.size(), with);
    gone_ = outcome == SendOutcome::kGone;
    return outcome != SendOutcome::kFull;
  }

  FileDescriptor socket_;
  std::deque<Unsent> unsent_;
  bool gone_ = false;
};

class TcpMessages : public MessageStream {
 public:
  explicit TcpMessages(FileDescriptor socket) : frames_(std::move(socket)) {}

  int fd() const override { return frames_.fd(); }
  void queue(const PeerMessage& message, int) override {
    frames_.queue(sockets::FrameKind::kMessage, serialize(message));
    frames_.flush();
  }
  bool flush() noexcept override { return frames_.flush(); }
  bool flushed() const override { return frames_.flushed(); }
  Read read(PeerMessage& message) override {
    sockets::Frame frame;
    switch (frames_.read(frame, kMaxPeerMessageBytes)) {
      case sockets::FrameStream::Read::kNothing:
        return Read::kNothing;
      case sockets::FrameStream::Read::kClosed:
        return Read::kClosed;
      case sockets::FrameStream::Read::kFrame:
        break;
    }
    message = parseMessage(frame.payload);
    return Read::kMessage;
  }
  void endWriting() noexcept override { frames_.endWriting(); }

 private:
  sockets::FrameStream frames_;
};

}  // namespace

std::unique_ptr<MessageStream> messagesOverLocalSocket(FileDescriptor socket) {
  return std::make_unique<LocalMessages>(std::move(socket));
}

std::unique_ptr<MessageStream> messagesOverTcp(FileDescriptor socket, std::chrono::seconds silence) {
  sockets::breakWhenUnanswered(socket.get(), silence);
  return std::make_unique<TcpMessages>(std::move(socket));
}

void sendOverLocalSocket(int socket, const PeerMessage& message) noexcept {
  try {
    const std::vector<std::byte> bytes = serialize(message);
    sendMessage(socket, bytes.data(), bytes.size());
  } catch (const std::exception&) {
    // Out of memory: the peer sees that the connection closes.
  }
}

void sendOverTcp(int socket, const PeerMessage& message) noexcept {
  try {
    // Through a duplicate, which the stream closes.
    FileDescriptor copy = duplicate(socket);
    if (!copy) return;
    TcpMessages(std::move(copy)).queue(message, -1);
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace xylem::transport
