#pragma once
// Whether the core of another rank is near or far now. A hypervisor moves the cores of its virtual machines, and the kernel moves threads. A
// line that the other core has written may then take several times as long to come, and data is moved faster in another way.
//
//   beat.store(++operations);                       // the other rank, in a line that nothing else writes
//   BeatProbe probe;
//   CoreDistance distance;
//   if (probe.isDue(bytes)) distance.took(probe.load(beat));      // this rank, after the operation
//   ways[distance.isFar()].second();

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace xylem::transport {

// Times the way of a line from the core that writes it.
class BeatProbe {
 public:
  // After an operation of this many bytes: whether it is worth loading the line again, as that takes it away from its writer.
  bool isDue(std::uint64_t bytes) {
    moved_ += bytes;
    if (moved_ < kInterval) return false;
    moved_ = 0;
    return true;
  }
  // By the clock `now`. Nothing if the other core has not written the line since the last time.
  template <typename Now = decltype(std::chrono::steady_clock::now)>
  std::optional<std::chrono::nanoseconds> load(const std::atomic<std::uint32_t>& beat,
                                               const Now& now = std::chrono::steady_clock::now) {
    const auto begin = now();
    const std::uint32_t value = beat.load(std::memory_order_acquire);
    const auto end = now();
    if (value == last_) return {};
    last_ = value;
    return end - begin;
  }

 private:
  static constexpr std::uint64_t kInterval = std::uint64_t{128} << 10;  // bytes, which take some microseconds

  std::uint64_t moved_ = 0;
  std::uint32_t last_ = 0;
};

class CoreDistance {
 public:
  explicit CoreDistance(bool far = false) : far_(far) {}

  bool isFar() const { return far_; }
  static bool isFar(std::chrono::nanoseconds line) { return line >= kFar; }
  // A line has taken this long. Returns whether the core is far now and was near before, or the other way round: two times, one
  // after the other, have to say so.
  bool took(std::optional<std::chrono::nanoseconds> line) {
    if (!line || *line > kDisturbed || (*line > kNear && *line < kFar)) return false;
    const bool agrees = (*line >= kFar) == far_;
    differs_ = agrees ? 0 : differs_ + 1;
    if (differs_ < 2) return false;
    differs_ = 0;
    far_ = !far_;
    return true;
  }

 private:
  // With reading the clock, which takes 20 to 30 ns. Lines mostly take 30 to 90 ns between cores that share a cache, between others 125 to 350.
  static constexpr std::chrono::nanoseconds kNear{95}, kFar{115}, kDisturbed{1000};

  bool far_;
  int differs_ = 0;
};

}  // namespace xylem::transport
