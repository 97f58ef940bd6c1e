#pragma once
// Local sockets without a file: their names live in the kernel, go with the process, and carry file
// descriptors.
//
//   LocalListener listener;                                  // its name is random
//   FileDescriptor there = connectLocal(listener.name());    // in another process
//   FileDescriptor here = listener.accept().socket;
//   sendMessage(here.get(), &message, sizeof message, memory.fd());
//
// A message arrives whole or not at all, and the end of the peer's process ends the connection.

#include <cstddef>
#include <optional>

#include "core/file_descriptor.h"
#include "runtime/transport/peer.h"
#include "runtime/sockets/arrival.h"

namespace xylem {

// Its name is random: whoever knows it was told it.
class LocalListener {
 public:
  LocalListener();
  const LocalName& name() const { return name_; }
  int fd() const { return fd_.get(); }
  // Who waits. Other users' processes are refused.
  Arrival accept() const;

 private:
  LocalName name_{};
  FileDescriptor fd_;
};

// Nothing if the listener's queue is full at the moment. Throws if there is no such listener.
FileDescriptor connectLocal(const LocalName& name);

// Sends one message, with a file descriptor if `fd` is not negative. False if the peer is gone.
bool sendMessage(int socket, const void* data, std::size_t bytes, int fd = -1) noexcept;

struct ReceivedMessage {
  std::size_t bytes = 0;  // that were sent; 0: the peer closed the connection or is gone
  FileDescriptor fd;      // if one came with it
};

// The next message, as far as `bytes` reach. Nothing if there is none yet.
std::optional<ReceivedMessage> receiveMessage(int socket, void* data, std::size_t bytes) noexcept;

}  // namespace xylem
