#pragma once
// How many channels of bandwidth one fit into some room on the links, parts of channels included: a linear
// program over all channels there are, of which only those are written down that matter (column generation).
//
//   Packing packing(pricing);
//   const Packing::Outcome outcome = packing.solve(room);      // room by row, in units
//   outcome.channels, outcome.prices; packing.amount(i) of packing.column(i)
//
// The prices prove it: no channel costs less than one, and all the room together costs `outcome.bound`.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "insight/optimum/pricing.h"

class ClpSimplex;

namespace xylem {

class Packing {
 public:
  // The pricing stays the caller's.
  explicit Packing(Pricing& pricing);
  ~Packing();
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  struct Outcome {
    double channels = 0;         // of the columns at hand
    double bound = 0;            // no channels are more together
    std::vector<double> prices;  // by row, per unit; they prove `bound`
  };
  // Hops that need more than the room are still open: a part of a channel fits.
  Outcome solve(std::span<const double> room) { return solve(room, false, 0, kClosed); }
  // For whole channels: such hops are closed. Stops early once there are `needed` channels, or it is clear
  // that there are fewer.
  Outcome solveWhole(std::span<const double> room, double needed) {
    return solve(room, true, needed, needed);
  }
  // As many as there are, unless there are fewer than `needed`.
  Outcome solveAllWhole(std::span<const double> room, double needed) {
    return solve(room, true, needed, kClosed);
  }

  int columns() const { return static_cast<int>(columns_.size()); }
  const ChannelColumn& column(int i) const { return columns_[static_cast<std::size_t>(i)]; }
  double amount(int i) const;
  bool isOpen(int i) const { return open_[static_cast<std::size_t>(i)] != 0; }

  // Programs solved so far.
  std::int64_t solved() const { return solved_; }
  std::int64_t work() const { return pricing_.work() + solved_ * kWorkOfSolving; }

 private:
  static constexpr std::int64_t kWorkOfSolving = 10000;  // in steps of the search for orders
  Outcome solve(std::span<const double> room, bool whole, double needed, double enough);
  bool addOffers(double leastGain);
  void add(const ChannelColumn& column);

  Pricing& pricing_;
  std::unique_ptr<ClpSimplex> program_;
  std::vector<ChannelColumn> columns_;
  std::vector<std::uint8_t> open_;
  std::vector<Pricing::Offer> fresh_;
  std::int64_t solved_ = 0;
};

}  // namespace xylem
