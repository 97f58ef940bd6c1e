#pragma once
// Knows which parts of some memory have been used. In a virtual machine each page may cost a process 5 us and more when it first uses it, even if the
// memory is there already. So ranks that compare ways of moving data leave out operations in new memory: the other way would look the faster one.
//
//   TouchedMemory touched(bytes);
//   if (touched.touch(at, n)) time.reset();

#include <algorithm>
#include <bitset>
#include <cstddef>

namespace xylem::transport {

class TouchedMemory {
 public:
  explicit TouchedMemory(std::size_t bytes)
      : partBytes_(std::max<std::size_t>(1, (bytes + kParts - 1) / kParts)) {}

  // Bytes `at` to at + bytes - 1 are used. Returns whether some of them were new, by parts of a 256th of the memory.
  bool touch(std::size_t at, std::size_t bytes) {
    const std::size_t end = std::min(kParts, (at + bytes + partBytes_ - 1) / partBytes_);
    bool isNew = false;
    for (std::size_t part = at / partBytes_; part < end; ++part) {
      isNew = isNew || !touched_[part];
      touched_[part] = true;
    }
    return isNew;
  }

 private:
  static constexpr std::size_t kParts = 256;

  std::size_t partBytes_;
  std::bitset<kParts> touched_;
};

}  // namespace xylem::transport
