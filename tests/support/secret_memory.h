#pragma once
// Memory that the kernel reads for no other process.
//
//   std::byte* const data = secretMemory(bytes);
//   if (data == nullptr) GTEST_SKIP() << "the kernel has no memfd_secret";

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "core/file_descriptor.h"

namespace xylem::testing {

// It stays until the process ends. Null where the kernel has none.
inline std::byte* secretMemory(std::size_t bytes) {
  const FileDescriptor file(static_cast<int>(syscall(SYS_memfd_secret, O_CLOEXEC)));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return nullptr;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace xylem::testing
