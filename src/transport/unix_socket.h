#pragma once
// Local sockets without a file: their names live in the kernel, go with the process, and carry file
// descriptors.
//
//   LocalListener listener;                                  // its name is random
//   FileDescriptor there = connectLocal(listener.name());    // in another process
//   FileDescriptor here = listener.accept();
//   sendMessage(here.get(), &message, sizeof message, memory.fd());
//
// A message arrives whole or not at all, and the end of the peer's process ends the connection.

#include <array>
#include <cstddef>
#include <optional>

#include "core/file_descriptor.h"

namespace xylem {

// Random bytes: whoever knows the name was told it.
using LocalName = std::array<std::byte, 24>;

class LocalListener {
 public:
  LocalListener();
  const LocalName& name() const { return name_; }
  int fd() const { return fd_.get(); }
  // Nothing if nobody is waiting, or if who did is another user's process.
  FileDescriptor accept() const;

 private:
  LocalName name_{};
  FileDescriptor fd_;
};

// Nothing if the listener's queue is full at the moment. Throws if there is no such listener.
FileDescriptor connectLocal(const LocalName& name);

// Sends one message, with a file descriptor if `fd` is not negative. False if the peer is gone.
bool sendMessage(int socket, const void* data, std::size_t bytes, int fd = -1) noexcept;

struct ReceivedMessage {
  std::size_t bytes = 0;  // 0: the peer closed the connection or is gone
  FileDescriptor fd;      // if one came with it
};

// The next message, cut off after `bytes`. Nothing if there is none yet.
std::optional<ReceivedMessage> receiveMessage(int socket, void* data, std::size_t bytes) noexcept;

}  // namespace xylem
