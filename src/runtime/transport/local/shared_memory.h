#pragma once
// Memory that two processes share, without a name: it is a file descriptor that travels from one to the
// other, and goes with the last process that has it, however that one ends. Nothing ever appears in /dev/shm.
//
//   SharedMemory mine = SharedMemory::create("xylem ring", bytes);     // send mine.fd() to the peer
//   SharedMemory theirs = SharedMemory::open(std::move(fd), bytes);    // at the peer

#include <cstddef>
#include <string>

#include "core/file_descriptor.h"

namespace xylem {

class SharedMemory {
 public:
  // Zeroed; pages that nobody touches cost nothing. `name` shows up in /proc/PID/maps.
  static SharedMemory create(const std::string& name, std::size_t bytes);
  // Throws if there is less memory behind `fd` than `bytes`, or if the other side could take it away again.
  static SharedMemory open(FileDescriptor fd, std::size_t bytes);
  // The same, for large mappings of several peers (core/address_space.h).
  static SharedMemory open(FileDescriptor fd, std::size_t bytes, std::size_t colour);
  // As the first, but writing to it is an error.
  static SharedMemory openForReading(FileDescriptor fd, std::size_t bytes);

  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  int fd() const { return fd_.get(); }
  // The mapping stays; the descriptor is closed.
  void closeFd() { fd_.reset(); }

 private:
  SharedMemory(FileDescriptor fd, std::size_t bytes, int protection);
  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace xylem
