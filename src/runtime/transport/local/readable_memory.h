#pragma once
// The memory of this process that the kernel lets other processes read (readProcess). It does not let them read memory of devices that a
// driver has mapped, nor memory that the program keeps secret (memfd_secret).
//
//   ReadableMemory readable;
//   if (readable.holds(buffer, bytes)) ...

#include <array>
#include <cstddef>

namespace xylem::transport {

class ReadableMemory {
 public:
  // Tries to read the first and the last byte as other processes do, unless it has done so before.
  bool holds(const std::byte* data, std::size_t bytes) noexcept;

 private:
  struct Stretch {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  std::array<Stretch, 64> read_{};  // each in a place that its address chooses
};

}  // namespace xylem::transport
