#pragma once
// How far the cores are that read what this rank writes, as far as that decides how to write it: lines that
// such a core has come in a few nanoseconds each from under the same cache, and in several times as many from
// another part of the processor or another socket. Measured now and then, because the kernel and those who
// run virtual machines move threads.
//
//   distance.write(bytes, [&](bool isNear) { ... });

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/copying.h"

namespace xylem {

class ReaderDistance {
 public:
  // `write` writes so many bytes, in the one way or the other.
  template <typename Write>
  void write(std::size_t bytes, Write&& write) {
    const bool measures =
        bytes >= kLeastMeasured && distanceMatters(bytes) && writes_++ % kMeasuresAgain == 0;
    if (!measures) return write(near_);
    // Only line by line is the time that of the lines: other writes are over before the lines are there.
    const auto begin = std::chrono::steady_clock::now();
    write(true);
    note(std::chrono::steady_clock::now() - begin, bytes / kCacheLine);
  }
  // What so many lines took.
  void note(std::chrono::nanoseconds took, std::size_t lines) {
    const Nanoseconds each = Nanoseconds(took) / static_cast<double>(lines);
    if (each < kMost) near_ = each < kFar;
  }
  bool isNear() const { return near_; }

 private:
  static constexpr std::uint32_t kMeasuresAgain = 64;
  static constexpr std::size_t kLeastMeasured = std::size_t{4} << 10;
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  static constexpr Nanoseconds kFar{3.5};   // from here on, of a line
  static constexpr Nanoseconds kMost{100};  // this thread was away

  bool near_ = true;
  std::uint32_t writes_ = 0;
};

}  // namespace xylem
