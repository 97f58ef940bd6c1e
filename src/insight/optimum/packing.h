#pragma once
// How many channels of bandwidth 1 fit into the free bandwidth of the links, fractions of channels included:
// a linear program with a column per possible channel. Column generation adds only the columns that matter.
//
//   HostProgram program(space, reachable, {Pattern::kRing, 2, false});
//   const Packing::Outcome outcome = program.packing.solve(program.capacityUnits());
//   outcome.channels, outcome.prices; program.packing.amount(i) of program.packing.column(i)
//
// The prices (the dual solution) prove the bound: no channel costs less than 1, and all free bandwidth
// together costs `outcome.bound`.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "insight/optimum/pricing.h"

class ClpSimplex;

namespace xylem::optimum {

class Packing {
 public:
  // The pricing has to outlive the packing.
  explicit Packing(Pricing& pricing);
  ~Packing();
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  struct Outcome {
    double channels = 0;         // that the generated columns give
    double bound = 0;            // the number of channels that none can exceed
    std::vector<double> prices;  // by row, per unit: the proof of `bound`
  };
  // Fractions of channels: a hop is open even if less than its need is free.
  Outcome solve(std::span<const double> freeUnits) { return solve(freeUnits, false, 0, kClosed); }
  // For whole channels: hops that need more than is free are closed. Stops as soon as `needed` channels are
  // found or excluded.
  Outcome solveWhole(std::span<const double> freeUnits, double needed) {
    return solve(freeUnits, true, needed, needed);
  }
  // The same, but stops early only if `needed` channels are excluded.
  Outcome solveAllWhole(std::span<const double> freeUnits, double needed) {
    return solve(freeUnits, true, needed, kClosed);
  }

  int columns() const { return static_cast<int>(columns_.size()); }
  const ChannelColumn& column(int i) const { return columns_[static_cast<std::size_t>(i)]; }
  double amount(int i) const;
  bool isOpen(int i) const { return open_[static_cast<std::size_t>(i)] != 0; }

  std::int64_t work() const { return pricing_.work() + solved_ * kWorkOfSolving; }

 private:
  static constexpr std::int64_t kWorkOfSolving = 10000;  // in steps of the search for orders
  Outcome solve(std::span<const double> freeUnits, bool whole, double needed, double enough);
  bool addOffers(double leastGain);
  void add(const ChannelColumn& column);

  Pricing& pricing_;
  std::unique_ptr<ClpSimplex> program_;
  std::vector<ChannelColumn> columns_;
  std::vector<std::uint8_t> open_;
  std::vector<Pricing::Offer> fresh_;
  std::int64_t solved_ = 0;
};

// The linear program of one pattern on one host: its limits, channels and packing together.
struct HostProgram {
  HostProgram(const search::SearchSpace& space, const Reachable& reachable, const ChannelRules& rules)
      : capacities(space, reachable, rules.pattern != search::Pattern::kRing),
        pricing(capacities, rules),
        packing(pricing) {}
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  // The capacities of all rows, in units of a channel of 1 GB/s.
  std::vector<double> capacityUnits() const {
    std::vector<double> freeUnits;
    for (int row = 0; row < capacities.rows(); ++row)
      freeUnits.push_back(capacities.capacity(row) * kWholeUnits);
    return freeUnits;
  }

  Capacities capacities;
  Pricing pricing;
  Packing packing;
};

}  // namespace xylem::optimum
