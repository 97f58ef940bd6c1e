#pragma once
// The memory of this process that the kernel lets other processes read (readProcess). It does not let them read memory of devices that a
// driver has mapped, nor memory that the program keeps secret (memfd_secret).
//
//   ReadableMemory readable;
//   if (readable.holds(buffer, bytes)) ...

#include <cstddef>
#include <vector>

namespace xylem::transport {

class ReadableMemory {
 public:
  // Tries to read the first and the last byte as other processes do, unless the bytes are few and lie in what could be read before. Memory
  // that could not be read is tried again each time. Little memory that the program maps later where it could be read is taken to be readable.
  bool holds(const std::byte* data, std::size_t bytes);

 private:
  struct Stretch {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
  };
  void add(Stretch stretch);

  std::vector<Stretch> known_;  // in the order of their addresses; they neither overlap nor touch
};

}  // namespace xylem::transport
