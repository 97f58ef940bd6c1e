#pragma once
// Reading the memory of another process of this host, where the kernel permits it.
//
//   admitReaders();                                           // both sides, once
//   if (readProcess(pid, address, out, bytes)) ...

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace xylem {

// With the Yama security module only relatives may look into a process. Ranks that one launcher started admit
// each other by naming it: its descendants may then read. Does nothing where that is not needed.
void admitReaders() noexcept;

// False, with errno, if the process is gone or does not let us.
bool readProcess(pid_t process, std::uint64_t address, std::byte* out, std::size_t bytes) noexcept;

}  // namespace xylem
