#pragma once
// Finds out, while data moves, which of two ways of moving it is the faster one now: the way between two cores may become several
// times as long when the kernel or a hypervisor moves threads, and then another way of copying is the best.
//
//   TwoWays ways(false);                                  // begins with the first
//   const bool second = ways.second();                    // the way of the next operation
//   ways.took(second, duration);                          // how long it took
//
// Now and then three operations take the other way, more seldom the slower that was: trials cost about a hundredth of the time.
// The least time counts, as whatever disturbs an operation makes it longer. The other way is taken for good if it was clearly
// faster in two trials, one soon after the other. So noise changes nothing.

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace xylem::transport {

class TwoWays {
 public:
  explicit TwoWays(bool second = false) : usual_(second) {}

  bool second() const { return usual_ != trying_; }
  // An operation in one of the ways has taken this long. It does not count if it began before the way changed.
  void took(bool second, std::chrono::nanoseconds time);

 private:
  using Time = std::chrono::nanoseconds;
  void decide();

  static constexpr std::uint32_t kInterval = 64, kLongestInterval = 16384;  // operations between trials
  static constexpr std::uint32_t kFirst = 4, kConfirming = 2;  // before the first trial, before a second
  static constexpr int kTries = 3;  // of a trial; the first may meet operations that go the usual way
  static constexpr double kClearlyFaster = 1.15;

  bool usual_;
  bool trying_ = false;
  bool promising_ = false;  // the last trial was faster
  int tries_ = 0;
  std::uint32_t untilTrial_ = kFirst;
  std::size_t counted_ = 0;
  std::array<Time, 4> latest_{};  // times of the usual way
  Time tried_{};                  // the least time of this trial
};

// The ways of data of all sizes that have several: one for each power of two.
class WaysBySize {
 public:
  // `second(bytes)`: whether data of that size begins with the second way.
  template <typename Second>
  explicit WaysBySize(Second&& second) {
    for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i] = TwoWays(second(kLeast << i));
  }
  // Less data than this is too soon moved to try anything.
  static bool has(std::uint64_t bytes) { return bytes >= kLeast; }
  // The number of the ways that data of this size has.
  static std::size_t indexOf(std::uint64_t bytes) {
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / kLeast)) - 1, kSizes - 1);
  }
  bool second(std::uint64_t bytes) const { return ways_[indexOf(bytes)].second(); }
  // Data of this size has taken this long in one of the ways. Sizes of one power of two are compared by their times per byte.
  void took(std::uint64_t bytes, bool second, std::chrono::nanoseconds time) {
    const std::size_t index = indexOf(bytes);
    const double share = static_cast<double>(kLeast << index) / static_cast<double>(bytes);
    ways_[index].took(second,
                      std::chrono::nanoseconds(std::llround(share * static_cast<double>(time.count()))));
  }

  static constexpr std::uint64_t kLeast = std::uint64_t{8} << 10;
  static constexpr std::size_t kSizes = 16;  // 8 KiB to 256 MiB and more

 private:
  std::array<TwoWays, kSizes> ways_;
};

}  // namespace xylem::transport
