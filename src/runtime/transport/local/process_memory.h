#pragma once
// Reads and writes the memory of another process through the kernel, and finds out what others can read of this one.
//
//   admitReaders();                                              // once, in the process that is read
//   if (!readProcess(process, address, out, bytes)) return errno;

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace xylem::transport {

// Permits the other ranks of the host to read and write this process's memory. The Yama security module lets only a
// process's ancestors do so; this names the launcher as tracer, so that all descendants of the launcher may
// read. Does nothing where that is not needed.
void admitReaders() noexcept;

// Returns false, with errno, if the process is gone, or if the kernel does not permit it (EPERM) or does not hand out that memory (EFAULT).
bool readProcess(pid_t process, std::uint64_t address, std::byte* out, std::size_t bytes) noexcept;

// The same in the other direction: writes `bytes` bytes of `data` there.
bool writeProcess(pid_t process, std::uint64_t address, const std::byte* data, std::size_t bytes) noexcept;

// Whether the kernel hands out these two bytes of this process to others that it admits. One system call for both, as the call takes longer
// than the copies.
bool canBeRead(const std::byte* first, const std::byte* second) noexcept;

}  // namespace xylem::transport
