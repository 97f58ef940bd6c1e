#pragma once
// Memory that two processes share. It has no name: it is a file descriptor that one process sends to the
// other, and the kernel frees it with the last process that has it, however that process ends. Nothing ever
// appears in /dev/shm.
//
//   SharedMemory mine = SharedMemory::create("xylem queues", bytes);   // send mine.fd() to the peer
//   SharedMemory theirs = SharedMemory::open(std::move(fd), bytes);    // at the peer
//
// All mappings can be written, those that are only read, too. On AMD's EPYC (family 26) the owner of memory takes two to four times as
// long to write it if another core has read it through a mapping that can only be read.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/file_descriptor.h"

namespace xylem::transport {

class SharedMemory {
 public:
  // Zeroed; pages that are never touched cost nothing. `name` shows up in /proc/PID/maps.
  static SharedMemory create(const std::string& name, std::size_t bytes);
  // Throws if there is less memory behind `fd` than `bytes`, or if the other side could shrink it.
  static SharedMemory open(FileDescriptor fd, std::size_t bytes);
  // The same, for large mappings of several peers: `colour` selects the address (core/address_space.h).
  static SharedMemory open(FileDescriptor fd, std::size_t bytes, std::size_t colour);

  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  int fd() const { return fd_.get(); }
  // Closes the descriptor; the mapping stays.
  void closeFd() { fd_.reset(); }

 private:
  SharedMemory(FileDescriptor fd, std::size_t bytes);
  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Shared memory that ranks of one process hand each other by a number: they use the same mapping, which
// lives as long as one of them needs it.
//
//   InProcess entry(memory);                             // one rank, which sends entry.handle() to the other
//   std::shared_ptr<SharedMemory> same = InProcess::find(handle);
class InProcess {
 public:
  // find() finds the memory as long as this object exists.
  explicit InProcess(const std::shared_ptr<SharedMemory>& memory);
  ~InProcess();
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  std::uint64_t handle() const { return handle_; }
  // Null if the entry is gone.
  static std::shared_ptr<SharedMemory> find(std::uint64_t handle);

 private:
  std::uint64_t handle_;
};

}  // namespace xylem::transport
