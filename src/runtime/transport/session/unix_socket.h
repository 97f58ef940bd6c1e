#pragma once
// Unix-domain sockets without a file. Their names live in the kernel and go with the process, and their
// messages can carry file descriptors. A message arrives whole or not at all, and the end of the peer's
// process ends the connection.
//
//   LocalListener listener;                                  // its name is random
//   FileDescriptor there = connectLocal(listener.name());    // in another process
//   FileDescriptor here = listener.accept().socket;
//   if (sendMessage(here.get(), &message, sizeof message, memory.fd()) == SendOutcome::kSent) ...

#include <cstddef>
#include <optional>

#include "core/file_descriptor.h"
#include "runtime/sockets/socket.h"
#include "runtime/transport/peer.h"

namespace xylem::transport {

// Its name is random, so a process that knows it got it from a rank of the job.
class LocalListener {
 public:
  LocalListener();
  const LocalName& name() const { return name_; }
  int fd() const { return fd_.get(); }
  // The next waiting connection. Processes of other users are refused.
  sockets::AcceptResult accept() const;

 private:
  LocalName name_{};
  FileDescriptor fd_;
};

// An invalid descriptor if the listener's backlog is full at the moment. Throws if there is no such
// listener.
FileDescriptor connectLocal(const LocalName& name);

enum class SendOutcome {
  kSent,
  kFull,  // the socket takes nothing now: try again later
  kGone,  // the peer is gone
};
// Sends one message, with a file descriptor if `fd` is not negative.
SendOutcome sendMessage(int socket, const void* data, std::size_t bytes, int fd = -1) noexcept;

// The length of the next message; 0 if the peer has closed the connection or is gone; nothing if no message
// has arrived.
std::optional<std::size_t> nextMessageBytes(int socket) noexcept;

struct ReceivedMessage {
  std::size_t bytes = 0;  // the length that was sent; 0: the peer closed the connection or is gone
  FileDescriptor fd;      // invalid if none came with the message
};

// Reads the next message, of which it stores the first `bytes` bytes. Nothing if none has arrived.
std::optional<ReceivedMessage> receiveMessage(int socket, void* data, std::size_t bytes) noexcept;

}  // namespace xylem::transport
