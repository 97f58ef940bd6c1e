#pragma once
// Divides the copying of a long payload between the two ends of a queue. The reader copies from the front, out of the writer's memory. The writer, which
// would only wait meanwhile, copies from the back, into the reader's output. Each claims its next part in one word that both change
// (QueueControl::claims), so that one that is late, or does not come at all, gets less or nothing.
//
//   CopyClaims claims(control.claims);
//   if (const auto part = claims.offer(step, bytes, most)) ...               // the reader: its first part
//   while ((part = claims.takeFront(bytes, most)).bytes > 0) ...             // its next ones
//   while ((part = claims.takeBack(step, bytes, most)).bytes > 0) ...        // the writer

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace xylem::transport {

class CopyClaims {
 public:
  struct Part {
    std::size_t begin = 0, bytes = 0;  // none if nothing is left
  };

  explicit CopyClaims(std::atomic<std::uint64_t>& word) : word_(word) {}

  // Lets the writer claim parts of the payload of this step, and claims the first half, or `most` bytes of it. Nothing if claims are closed.
  std::optional<Part> offer(std::uint64_t step, std::size_t bytes, std::size_t most) {
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    const std::uint64_t front = unitsOf(std::min(most, bytes / 2));
    const std::uint64_t mine = stepTag(step) << kTagShift | front << kFrontShift;
    do
      if ((before & kClosed) != 0) return {};
    while (!word_.compare_exchange_weak(before, mine, std::memory_order_acq_rel));
    return Part{0, std::min(bytes, front * kUnit)};
  }
  Part takeFront(std::size_t bytes, std::size_t most) {
    std::uint64_t before = word_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t part = nextUnits(before, bytes, most);
      if (part == 0) return {};
      if (!word_.compare_exchange_weak(before, before + (part << kFrontShift), std::memory_order_acq_rel))
        continue;
      const std::size_t begin = front(before) * kUnit;
      return {begin, std::min(bytes - begin, part * kUnit)};
    }
  }
  Part takeBack(std::uint64_t step, std::size_t bytes, std::size_t most) {
    std::uint64_t before = word_.load(std::memory_order_acquire);
    for (;;) {
      if (before >> kTagShift != stepTag(step) || (before & kClosed) != 0) return {};
      const std::uint64_t part = nextUnits(before, bytes, most);
      if (part == 0) return {};
      if (!word_.compare_exchange_weak(before, before + part, std::memory_order_seq_cst)) continue;
      const std::uint64_t end = unitsOf(bytes) - back(before);
      const std::size_t begin = (end - part) * kUnit;
      return {begin, std::min(bytes, end * kUnit) - begin};
    }
  }
  // Whether there may be a part of this step for the writer.
  bool isOffered(std::uint64_t step) const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return word >> kTagShift == stepTag(step) && (word & kClosed) == 0;
  }
  // How many units the writer has claimed.
  std::uint64_t writersUnits() const { return back(word_.load(std::memory_order_acquire)); }
  // The reader has all of the payload.
  void end() { word_.fetch_and(kClosed, std::memory_order_release); }
  // The writer claims nothing any more, of this payload and of later ones. Any thread may call it.
  void close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }

  // Parts are whole units, but for the last one.
  static constexpr std::size_t kUnit = std::size_t{64} << 10;
  static std::uint64_t unitsOf(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit; }

 private:
  // A bit that says that there is an offer, the number of its step, a bit for closed, and the units that each has claimed.
  static constexpr int kTagShift = 32, kFrontShift = 15;
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 31, kUnits = (1 << 15) - 1;
  // A part is half of what is left, so that both are done at about the same time; but to begin with each costs a microsecond or more.
  static constexpr std::uint64_t kLeastUnits = 4;

  static std::uint64_t stepTag(std::uint64_t step) { return (step | 1U << 31) & 0xffffffff; }
  static std::uint64_t front(std::uint64_t word) { return word >> kFrontShift & kUnits; }
  static std::uint64_t back(std::uint64_t word) { return word & kUnits; }
  static std::uint64_t nextUnits(std::uint64_t word, std::size_t bytes, std::size_t most) {
    const std::uint64_t all = unitsOf(bytes), claimed = front(word) + back(word);
    if (claimed >= all) return 0;
    const std::uint64_t left = all - claimed, part = std::min<std::uint64_t>(left / 2, most / kUnit);
    return std::min(left, std::max(part, kLeastUnits));
  }

  std::atomic<std::uint64_t>& word_;
};

}  // namespace xylem::transport
