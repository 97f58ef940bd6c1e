#pragma once
// The bandwidth of each link that no channel has taken yet, rounded at every change as NCCL rounds it.
//
//   FreeBandwidth free(system.links());
//   const Load load(12.0f);                                     // GB/s per channel
//   if (free.take(steps, load)) { ...; free.giveBack(steps, load); }
//
// NCCL keeps 32-bit floats and rounds them to three decimals at every change. Such floats are whole
// thousandths of a GB/s, and adding or taking away whole thousandths is exact. So bandwidths are kept as
// integers of thousandths, and the common case is an integer subtraction. Everything else (a link that no
// channel has touched yet, an odd share of a load) is computed in floats, with NCCL's results.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/topology/system.h"

namespace xylem::search {

// The part of a load that a step of a route takes from its link.
enum class Share : std::int32_t {
  kWhole,        // the load itself
  kPci,          // 6/5 of it: PCI links of GPU traffic through an Intel CPU
  kWholeEighth,  // 1/8 of kWhole: acknowledgements on the way back
  kPciEighth,    // 1/8 of kPci
};
constexpr int kShares = 4;
// The ratios of the shares of one load, as whole numbers: 40 units are the load itself.
constexpr std::array<std::uint64_t, kShares> kShareUnits = {40, 48, 5, 6};
constexpr unsigned bit(Share share) { return 1u << static_cast<unsigned>(share); }
constexpr unsigned kAllShares = (1u << kShares) - 1;

// One link of a route. `withNext`: this step and the next are one hop; NCCL looks at both before it takes
// from either.
struct RouteStep {
  topology::LinkId link = topology::kNoLink;
  Share share = Share::kWhole;
  bool withNext = false;
};

// The amounts that a channel of some bandwidth (GB/s) takes of links, by share. `shares`: the ones that
// occur.
class Load {
 public:
  Load() = default;
  explicit Load(float bandwidth, unsigned shares = kAllShares);

  // In GB/s, and in thousandths of a GB/s.
  float amount(Share share) const { return amounts_[static_cast<std::size_t>(share)]; }
  std::int32_t milli(Share share) const { return milli_[static_cast<std::size_t>(share)]; }
  // True if the amounts of all shares that occur are whole thousandths, in the ratio of kShareUnits.
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
  explicit FreeBandwidth(std::span<const topology::Link> links);

  // Takes the load from every link. Returns false, and takes nothing, if a link has not enough. No link may
  // occur twice.
  bool take(std::span<const RouteStep> steps, const Load& load) {
    if (!load.exact()) return takeInOrder(steps, load);
    for (const RouteStep& step : steps)
      if (milliOf(step.link) < load.milli(step.share)) return odd_ == 0 ? false : takeInOrder(steps, load);
    takeFree(steps, load);
    return true;
  }
  // Takes an exact load from links that have it free, as has() says.
  void takeFree(std::span<const RouteStep> steps, const Load& load) {
    for (const RouteStep& step : steps) at(step.link) -= load.milli(step.share);
  }
  // Does the same link by link and rounds each; a link may occur more than once.
  bool takeInOrder(std::span<const RouteStep> steps, const Load& load);

  void giveBack(std::span<const RouteStep> steps, const Load& load) {
    if (!load.exact() || (odd_ > 0 && anyOdd(steps))) return giveBackRounded(steps, load);
    for (const RouteStep& step : steps) at(step.link) += load.milli(step.share);
  }

  // True if every link has the load free. Only for exact loads on links of whole thousandths.
  bool has(std::span<const RouteStep> steps, const Load& load) const {
    for (const RouteStep& step : steps)
      if (!has(step, load)) return false;
    return true;
  }
  bool has(const RouteStep& step, const Load& load) const {
    return milliOf(step.link) >= load.milli(step.share);
  }

  // GB/s.
  float of(topology::LinkId link) const;
  // The bandwidth of the link that has less, in whole GB/s, rounded down, and at most `limit`.
  int wholeOfNarrower(topology::LinkId a, topology::LinkId b, int limit) const {
    const std::int32_t milli = std::min(milliOf(a), milliOf(b));
    if (milli != kOdd) return std::min(milli / 1000, limit);
    return static_cast<int>(std::min({of(a), of(b), static_cast<float>(limit)}));
  }
  // Thousandths of a GB/s; kOdd if the bandwidth is no whole number of them.
  std::int32_t milliOf(topology::LinkId link) const { return milli_[static_cast<std::size_t>(link)]; }
  static constexpr std::int32_t kOdd = INT32_MIN;
  bool anyOdd() const { return odd_ > 0; }
  // A hash of all bandwidths. Takes time in proportion to the links.
  std::uint64_t hash() const;

 private:
  std::int32_t& at(topology::LinkId link) { return milli_[static_cast<std::size_t>(link)]; }
  bool anyOdd(std::span<const RouteStep> steps) const;
  void giveBackRounded(std::span<const RouteStep> steps, const Load& load);
  void set(topology::LinkId link, float value);

  std::vector<std::int32_t> milli_;  // thousandths of a GB/s, or kOdd
  std::vector<float> values_;        // GB/s, where milli_ is kOdd
  int odd_ = 0;                      // links that are kOdd
};

}  // namespace xylem::search
