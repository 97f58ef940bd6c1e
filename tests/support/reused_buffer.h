#pragma once
// Memory for one call after the other. Under sanitizers fresh memory takes half of the time of calls with some hundred KiB. The address
// sanitizer still reports accesses behind the bytes that were asked for.
//
//   ReusedBuffer buffer;
//   const std::span<std::byte> output = buffer.get(bytes);   // until the next get(); it has what was written before

#include <cstddef>
#include <span>
#include <vector>

#include "support/sanitizers.h"

#if defined(XYLEM_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace xylem::testing {

class ReusedBuffer {
 public:
  ReusedBuffer() = default;
  ~ReusedBuffer() { allow(memory_); }
  ReusedBuffer(const ReusedBuffer&) = delete;
  ReusedBuffer& operator=(const ReusedBuffer&) = delete;

  std::span<std::byte> get(std::size_t bytes) {
    allow(memory_);
    if (bytes > memory_.size()) memory_ = std::vector<std::byte>(bytes);
    forbid(std::span(memory_).subspan(bytes));
    return std::span(memory_).first(bytes);
  }

 private:
#if defined(XYLEM_ADDRESS_SANITIZER)
  static void allow(std::span<const std::byte> bytes) {
    ASAN_UNPOISON_MEMORY_REGION(bytes.data(), bytes.size());
  }
  static void forbid(std::span<const std::byte> bytes) {
    ASAN_POISON_MEMORY_REGION(bytes.data(), bytes.size());
  }
#else
  static void allow(std::span<const std::byte>) {}
  static void forbid(std::span<const std::byte>) {}
#endif

  std::vector<std::byte> memory_;
};

}  // namespace xylem::testing
