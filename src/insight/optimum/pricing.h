#pragma once
// Finds the cheapest channels of a pattern when the bandwidth of links has prices. They become the columns of
// the packing program.
//
//   Pricing pricing(capacities, {Pattern::kRing, 2, true});
//   pricing.setFreeUnits(free);                      // closes hops that need more units than are free
//   for (const Pricing::Offer& offer : pricing.offers(prices)) ... offer.cost, offer.column ...

#include <cstdint>
#include <span>
#include <vector>

#include "insight/optimum/capacities.h"
#include "insight/optimum/orders.h"
#include "planner/search/channel_graph.h"

namespace xylem::optimum {

// The channels that are permitted.
struct ChannelRules {
  search::Pattern pattern = search::Pattern::kRing;
  int crossNic = 2;  // 0: a ring ends at the port it starts at
  // Rings that cross NICs come with their reverse, because data on a rail returns by the NIC it left by.
  bool paired = false;
};

// One channel, or a channel and its reverse.
struct ChannelColumn {
  std::vector<int> gpus;
  int startNet = -1, endNet = -1;
  int channels = 1;       // 2 with the reverse
  std::vector<Use> uses;  // of all channels together, one entry per row

  bool operator==(const ChannelColumn& other) const {
    return gpus == other.gpus && startNet == other.startNet && endNet == other.endNet &&
           channels == other.channels;
  }
};

class Pricing {
 public:
  struct Offer {
    double cost = 0;  // per channel
    ChannelColumn column;
  };

  Pricing(const Capacities& capacities, const ChannelRules& rules);

  const ChannelRules& rules() const { return rules_; }
  const Capacities& capacities() const { return capacities_; }

  // Free units by row. A negative number closes all hops that use the row.
  void setFreeUnits(std::span<const double> freeUnits);
  bool isOpen(const ChannelColumn& column) const;

  // `prices`: by row, per unit.
  const std::vector<Offer>& offers(std::span<const double> prices);
  // A lower limit of the cost of all open channels at the last prices.
  double atLeast() const { return atLeast_; }
  std::int64_t work() const { return search_.work(); }

  // Returns the column of GPUs in this order, with its uses.
  ChannelColumn columnOf(std::vector<int> gpus, int startNet, int endNet, int channels) const;

 private:
  // The part of a channel's load that a hop to a NET carries. (The value is the divisor.)
  enum class Part { kWhole = 1, kHalf = 2 };

  using Hops = std::vector<const Capacities::Hop*>;
  double cost(const Capacities::Hop& hop, std::span<const double> prices, Part part = Part::kWhole) const;
  bool fits(const Capacities::Hop& hop, Part part = Part::kWhole) const;
  void addUses(ChannelColumn& column, const Capacities::Hop& hop, Part part = Part::kWhole) const;
  bool mayEnd(int start, int end) const;

  OrderCosts arcCosts(std::span<const double> prices, bool symmetric) const;
  void offerCycles(std::span<const double> prices);
  void offerRings(std::span<const double> prices, std::span<const int> nets);
  void offerPairs(std::span<const double> prices);
  void offerTrees(std::span<const double> prices);
  void take(const std::vector<Order>& orders, double atLeast, std::span<const int> startNets,
            std::span<const int> endNets, int channels);

  const Capacities& capacities_;
  ChannelRules rules_;
  std::vector<double> freeUnits_;
  OrderSearch search_;
  std::vector<Offer> offers_;
  double atLeast_ = kClosed;
};

}  // namespace xylem::optimum
