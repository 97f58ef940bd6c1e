#pragma once
// The bandwidth of each link that no channel has taken yet, in 32-bit floats rounded to three decimals at
// every change, as NCCL keeps it.
//
// Such floats are whole thousandths, and taking whole thousandths from them is exact. So they are kept as
// integers, and the common case is an integer subtraction. What is not a whole thousandth (a link nobody
// touched yet, an odd share) takes the way through floats, with the same result NCCL has.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/system.h"

namespace xylem {

// Which part of a load a step of a route takes from its link.
enum class Share : std::int32_t {
  kWhole,        // the load itself
  kPci,          // 6/5 of it: PCI links of GPU traffic through an Intel CPU
  kWholeEighth,  // 1/8 of kWhole: acknowledgements on the way back
  kPciEighth,    // 1/8 of kPci
};
constexpr int kShares = 4;
// How the shares of one load relate, as whole numbers: 40 of these are the load itself.
constexpr std::array<std::uint64_t, kShares> kShareUnits = {40, 48, 5, 6};
constexpr unsigned bit(Share share) { return 1u << static_cast<unsigned>(share); }
constexpr unsigned kAllShares = (1u << kShares) - 1;

// One link of a route. `withNext`: this one and the next are one hop; NCCL looks at both before it takes from
// either.
struct RouteStep {
  LinkId link = kNoLink;
  Share share = Share::kWhole;
  bool withNext = false;
};

// What a channel's bandwidth (GB/s) is on each kind of step. `shares`: those that any route asks for.
class Load {
 public:
  Load() = default;
  explicit Load(float bandwidth, unsigned shares = kAllShares);

  float amount(Share share) const { return amounts_[static_cast<std::size_t>(share)]; }
  std::int32_t milli(Share share) const { return milli_[static_cast<std::size_t>(share)]; }
  // All amounts asked for are whole thousandths, in the ratio of kShareUnits.
  bool exact() const { return exact_; }

 private:
  std::array<float, kShares> amounts_{};
  std::array<std::int32_t, kShares> milli_{};
  bool exact_ = false;
};

class FreeBandwidth {
 public:
  FreeBandwidth() = default;
  // Starts with the links' bandwidths.
  explicit FreeBandwidth(std::span<const Link> links);

  // Takes the load from every link; false, and nothing taken, if one has not enough. No link may occur twice.
  bool take(std::span<const RouteStep> steps, const Load& load) {
    if (!load.exact()) return takeInOrder(steps, load);
    for (const RouteStep& step : steps)
      if (at(step.link) < load.milli(step.share)) return odd_ == 0 ? false : takeInOrder(steps, load);
    change(steps, load, -1);
    return true;
  }
  // The same link by link, rounding each; links may occur more than once.
  bool takeInOrder(std::span<const RouteStep> steps, const Load& load);

  void giveBack(std::span<const RouteStep> steps, const Load& load) {
    if (load.exact() && (odd_ == 0 || !anyOdd(steps)))
      change(steps, load, 1);
    else
      giveBackRounded(steps, load);
  }

  // The two for an exact load on links of whole thousandths: nothing is rounded and no hash kept.
  bool has(const RouteStep& step, const Load& load) const {
    return milliOf(step.link) >= load.milli(step.share);
  }
  bool has(std::span<const RouteStep> steps, const Load& load) const {
    for (const RouteStep& step : steps)
      if (!has(step, load)) return false;
    return true;
  }
  bool takeExact(std::span<const RouteStep> steps, const Load& load) {
    if (!has(steps, load)) return false;
    takeFree(steps, load);
    return true;
  }
  void takeFree(std::span<const RouteStep> steps, const Load& load) {
    for (const RouteStep& step : steps) at(step.link) -= load.milli(step.share);
  }
  void giveBackExact(std::span<const RouteStep> steps, const Load& load) {
    for (const RouteStep& step : steps) at(step.link) += load.milli(step.share);
  }

  // GB/s.
  float of(LinkId link) const;
  // Of the one that has less: in whole GB/s, rounded down, no more than `limit`.
  int wholeOfNarrower(LinkId a, LinkId b, int limit) const {
    const std::int32_t milli = std::min(milliOf(a), milliOf(b));
    if (milli != kOdd) return std::min(milli / 1000, limit);
    return static_cast<int>(std::min({of(a), of(b), static_cast<float>(limit)}));
  }
  // Thousandths of a GB/s; kOdd if that is no whole number.
  std::int32_t milliOf(LinkId link) const { return milli_[static_cast<std::size_t>(link)]; }
  // Equal states have equal hashes.
  std::uint64_t hash() const { return hash_; }
  // Stands for a bandwidth that is no whole number of thousandths.
  static constexpr std::int32_t kOdd = INT32_MIN;
  bool anyOdd() const { return odd_ > 0; }

 private:
  std::int32_t& at(LinkId link) { return milli_[static_cast<std::size_t>(link)]; }
  void change(std::span<const RouteStep> steps, const Load& load, std::int32_t sign) {
    for (const RouteStep& step : steps) {
      const std::int32_t amount = sign * load.milli(step.share);
      at(step.link) += amount;
      hash_ +=
          weight_[static_cast<std::size_t>(step.link)] * static_cast<std::uint64_t>(std::int64_t{amount});
    }
  }
  bool anyOdd(std::span<const RouteStep> steps) const;
  void giveBackRounded(std::span<const RouteStep> steps, const Load& load);
  void set(LinkId link, float value);
  std::uint64_t hashOf(LinkId link) const;

  std::vector<std::int32_t> milli_;  // thousandths of a GB/s, or kOdd
  std::vector<float> values_;        // GB/s, where milli_ is kOdd
  std::vector<std::uint64_t> weight_;
  std::uint64_t hash_ = 0;
  int odd_ = 0;  // links that are kOdd
};

// A link's or NET's weight in a hash of what is free.
std::uint64_t hashWeight(std::uint64_t index);

}  // namespace xylem
