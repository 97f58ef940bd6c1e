#pragma once
// The messages of a session over its connection: a local socket, which can carry file descriptors, or TCP.
// Nothing here waits: bytes that the connection does not take are kept until the next flush.
//
//   std::unique_ptr<MessageStream> stream = messagesOverLocalSocket(std::move(socket));
//   stream->queue({.kind = PeerMessage::kAsk});
//   PeerMessage message;
//   if (stream->read(message) == MessageStream::Read::kMessage) ...

#include <chrono>
#include <memory>

#include "core/deadline.h"
#include "core/file_descriptor.h"
#include "runtime/transport/session/peer_message.h"

namespace xylem::transport {

class MessageStream {
 public:
  enum class Read { kNothing, kMessage, kClosed };
  virtual ~MessageStream() = default;

  // Readable when read() has something to return.
  virtual int fd() const = 0;
  // Sends the message as soon as possible. `fd`: a descriptor to go with it, which remains the caller's; -1:
  // none. Only local sockets take one.
  virtual void queue(const PeerMessage& message, int fd = -1) = 0;
  // Sends what the connection takes. Returns false if it is closed or broken.
  virtual bool flush() noexcept = 0;
  virtual bool flushed() const = 0;
  // Takes the next message. Throws if the peer has sent something else.
  virtual Read read(PeerMessage& message) = 0;
  // Nothing is sent any more.
  virtual void endWriting() noexcept = 0;
};

std::unique_ptr<MessageStream> messagesOverLocalSocket(FileDescriptor socket);
// The connection breaks once the other host has not answered for about `silence`.
std::unique_ptr<MessageStream> messagesOverTcp(FileDescriptor socket, std::chrono::seconds silence);

// Sends one message over a socket that has no MessageStream (yet) and stays the caller's. It is lost if the
// socket does not take it at once.
void sendOverLocalSocket(int socket, const PeerMessage& message) noexcept;
void sendOverTcp(int socket, const PeerMessage& message) noexcept;

}  // namespace xylem::transport
