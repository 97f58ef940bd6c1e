#pragma once
// Finds out, while data moves, which of two ways of moving it is the faster one now: the way between two cores may become several
// times as long when the kernel or a hypervisor moves threads, and then another way of copying is the best.
//
//   TwoWays ways(false);                                  // begins with the first
//   const bool second = ways.second();                    // the way of the next operation
//   const bool timed = ways.times();                      // whether to time it
//   const auto changed = ways.took(second, duration);     // how long it took; the times, if it is the other way from now on
//
// Now and then some operations take the other way, more seldom the slower that was: trials cost about a hundredth of the time. A
// trial has four operations, and up to twenty, of 4 ms together, unless the other way is clearly slower: what has not been done for
// a while is slow at first, in the kernel, in the caches and in a hypervisor that maps memory when it is used. So a way goes through these states:
//
//   usual -> a trial of the other one -> a second trial soon after, if that was clearly faster
//         -> new, if that was so again -> usual, if it does not take longer than the old way did; back to that otherwise
//
// The last step is for staging memory, which is fast at first if other ranks have not read it lately. Each time that a way goes back, trials
// become more seldom. The first trial waits until the usual way is known, for 64 operations or, if they are long, 2 ms of them: the first ones of a
// program are slow for many reasons. The next few come sooner where times differ little: neither way is known well yet. Once a way has become the
// usual one, the old one is soon tried again, as it may have been slow only at first.
//
// The least of the last four times counts, as whatever disturbs an operation makes it longer. With Flow::kOneWay it is the mean, of the eight
// before a trial and of the last four of one: ranks that bring data run ahead, so that an operation takes next to nothing where its data is there
// already, and another one waits for the data of several. The first operation after a change of the way never counts. An operation whose time
// tells nothing has none; a trial with twenty of these is put off.
//
// Only trials and the operations just before one are timed, as to read the clock twice takes a tenth of the shortest operations or more.
//
// Programs make few operations that take long, and little makes those slow at first. So their trials come sooner: an operation that takes
// clearly longer is the last one, but for the first two, as a message in two pieces is two operations.

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace xylem::transport {

// Data of a power of two of bytes, up to twice as much, is moved in another way from now on: what both ways took.
struct WayChange {
  bool second = false;      // the new way
  bool back = false;        // the old one after all: the other soon took longer than in its trials
  std::uint64_t bytes = 0;  // the power of two, if data has sizes
  std::chrono::nanoseconds before{}, now{};
  std::array<std::string_view, 2> names = {"staged", "read"};  // of the ways
};

// Whether all ranks wait for each other in each operation, or data goes from ranks that need not wait to one that does.
enum class Flow { kBothWays, kOneWay };

class TwoWays {
 public:
  explicit TwoWays(bool second = false, Flow flow = Flow::kBothWays) : flow_(flow), usual_(second) {}

  bool second() const { return usual_ != trying_; }
  // Whether any operation has come.
  bool used() const { return used_; }
  // The other way may have become the faster one: it is tried soon.
  void trySoon() {
    isKnown_ = true;
    if (!trying_) untilTrial_ = std::min(untilTrial_, kConfirming << std::min(broken_, 10));
  }
  // Other operations came in between, in any way: a trial that was under way begins again.
  void resume();
  // Whether the time of the next operation is needed.
  bool times() const { return trying_ || counted_ == 0 || untilTrial_ <= kTimed; }
  // An operation in one of the ways has taken this long, if it was timed. It does not count if it began before the way changed. Returns
  // what was measured if the other way is the usual one from now on.
  std::optional<WayChange> took(bool second, std::optional<std::chrono::nanoseconds> time);

 private:
  using Time = std::chrono::nanoseconds;
  std::optional<WayChange> tookTime(Time time);
  std::optional<WayChange> decide();
  WayChange take(Time now, Time before, bool back);
  std::uint32_t untilNext(double slower) const;
  static std::uint32_t untilKnown(Time time);
  bool mayBeTried();
  // The typical time of a way, from these, the latest last.
  Time timeOf(std::span<const Time> times) const;
  Time usually() const { return timeOf(std::span(latest_).last(std::min(counted_, latest_.size()))); }
  static bool isLong(Time time) { return time >= std::chrono::microseconds(500); }
  bool isTried(Time time) const;
  // The times of this trial, and the typical one of its latest operations.
  std::span<const Time> tries() const {
    return std::span(tried_).first(static_cast<std::size_t>(tries_ - 1));
  }
  Time tried() const { return timeOf(tries().last(std::min(tries().size(), kLatest))); }

  static constexpr std::uint32_t kInterval = 64, kLongestInterval = 16384;  // operations between trials
  // Before the first trial, at least. Before a second one, eight operations have been timed, as the first is not.
  static constexpr std::uint32_t kFirst = 4, kConfirming = 9;
  static constexpr std::uint32_t kBetweenLong = 2;  // before the first two trials of long operations
  // A way is known after operations that took this long together, but after four at least.
  static constexpr Time kKnownAfter = std::chrono::milliseconds(2);
  static constexpr std::uint32_t kLeastKnown = 4;
  // The first trials come as soon as the usual way is known, if the other one took less than this many times as long.
  static constexpr int kEarlyTrials = 3;
  static constexpr double kHardlySlower = 1.5;
  static constexpr std::uint32_t kTimed = 8;  // operations before a trial
  static constexpr std::size_t kLatest = 4;   // those of which the least time counts
  // Operations of a trial, of which the first does not count.
  static constexpr int kTries = 4, kMostTries = 20, kLeastLong = 3;
  // A trial with more of them is over after this time; or once the other way is clearly slower, and its last two times were not shorter than those before.
  static constexpr Time kMostTried = std::chrono::milliseconds(4);
  static constexpr int kPatience = 2;
  static constexpr double kStillShorter = 0.95;  // than the least time before
  static constexpr double kClearlyFaster = 1.15;

  Flow flow_;
  bool usual_;
  bool used_ = false;
  bool trying_ = false;
  bool settled_ = false;    // the usual way has been taken since the last trial
  bool promising_ = false;  // the last trial was faster
  bool isNew_ = false;      // the usual way, which took less time than before_ in its trials
  Time before_{};
  int broken_ = 0;  // how often the usual way became another one and soon turned out to take longer
  int trials_ = 0;
  int tries_ = 0, sinceShorter_ = 0, untimed_ = 0;  // operations of this trial
  std::uint32_t untilTrial_ = kFirst;
  std::uint32_t timed_ = 0;  // operations of the usual way, before the first trial
  bool isKnown_ = false;     // the usual way may be compared
  std::size_t counted_ = 0;
  std::array<Time, kTimed> latest_{};     // times of the usual way, the latest last
  std::array<Time, kMostTries> tried_{};  // times of this trial, without the first
};

// The ways of data of all sizes that have several: one for each power of two. Where one changes, whatever made it change may hold for
// all. So the others are tried soon, and sizes up to eight times as small or large that have not come yet begin with the new way.
class WaysBySize {
 public:
  // `second(bytes)`: whether data of that size begins with the second way.
  template <typename Second>
  explicit WaysBySize(Second&& second, Flow flow = Flow::kBothWays) : flow_(flow) {
    for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i] = TwoWays(second(kLeast << i), flow);
  }
  // Less data than this is too soon moved to try anything.
  static bool has(std::uint64_t bytes) { return bytes >= kLeast; }
  // The number of the ways that data of this size has; only of sizes for which has() is true.
  static std::size_t indexOf(std::uint64_t bytes) {
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes / kLeast)) - 1, kSizes - 1);
  }
  bool second(std::uint64_t bytes) const { return ways_[indexOf(bytes)].second(); }
  bool used(std::uint64_t bytes) const { return ways_[indexOf(bytes)].used(); }
  bool times(std::uint64_t bytes) const { return ways_[indexOf(bytes)].times(); }
  // Data of this size has taken this long in one of the ways, if it was timed. Sizes of one power of two are compared by their times per byte. A
  // change, if there is one, has the times of the power of two.
  std::optional<WayChange> took(std::uint64_t bytes, bool second,
                                std::optional<std::chrono::nanoseconds> time) {
    const std::size_t index = indexOf(bytes);
    const double share = static_cast<double>(kLeast << index) / static_cast<double>(bytes);
    if (time) time = std::chrono::nanoseconds(std::llround(share * static_cast<double>(time->count())));
    std::optional<WayChange> change = ways_[index].took(second, time);
    if (change) change->bytes = kLeast << index;
    if (change && !change->back) {
      for (std::size_t other = 0; other < kSizes; ++other)
        if (other != index && ways_[other].used())
          ways_[other].trySoon();
        else if (other != index && other + kNeighbours >= index && other <= index + kNeighbours)
          ways_[other] = TwoWays(change->second, flow_);
    }
    return change;
  }

  // Something else has changed, which may mean the same.
  void trySoon() {
    for (TwoWays& ways : ways_) ways.trySoon();
  }
  void resume() {
    for (TwoWays& ways : ways_) ways.resume();
  }

  static constexpr std::uint64_t kLeast = std::uint64_t{8} << 10;
  static constexpr std::size_t kSizes = 16;  // 8 KiB to 256 MiB and more

 private:
  static constexpr std::size_t kNeighbours = 3;  // powers of two

  Flow flow_;
  std::array<TwoWays, kSizes> ways_;
};

// Called for each change, with what is moved ("AllGather").
using TellChange = std::function<void(std::string_view what, const WayChange& change)>;

// "AllGather of 65536 bytes: read from now on, which took 8.1 us; staged 33.0 us"
std::string changeText(std::string_view what, const WayChange& change);
// "AllGather of 65536 bytes read in 8.1 us, staged in 33.0 us"; without brackets.
std::string wayText(std::string_view what, const WayChange& change);

}  // namespace xylem::transport
