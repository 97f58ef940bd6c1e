#pragma once
// The channels of a pattern, cheapest first, when what they take of links has a price: the columns of the
// packing program.
//
//   Pricing pricing(capacities, {Pattern::kRing, 2, true});
//   pricing.setRoom(room);                      // hops that need more than that are closed
//   for (const Offer& offer : pricing.offers(prices)) ... offer.cost, offer.column ...

#include <cstdint>
#include <span>
#include <vector>

#include "planner/search/channel_graph.h"
#include "insight/optimum/capacities.h"
#include "insight/optimum/orders.h"

namespace xylem {

// Which channels count.
struct ChannelRules {
  Pattern pattern = Pattern::kRing;
  int crossNic = 2;  // 0: they end at the port they start at
  // Rings that cross NICs come with their reverse, as data returns on a rail by the NIC it left by.
  bool paired = false;
};

// One channel, or one and its reverse.
struct ChannelColumn {
  std::vector<int> gpus;
  int startNet = -1, endNet = -1;
  int channels = 1;
  std::vector<Use> uses;  // of all of them together, by row

  bool operator==(const ChannelColumn& other) const {
    return gpus == other.gpus && startNet == other.startNet && endNet == other.endNet &&
           channels == other.channels;
  }
};

class Pricing {
 public:
  struct Offer {
    double cost = 0;  // of each channel
    ChannelColumn column;
  };

  Pricing(const Capacities& capacities, const ChannelRules& rules);

  const ChannelRules& rules() const { return rules_; }
  const Capacities& capacities() const { return capacities_; }

  // By row, in units. Negative: everything is closed.
  void setRoom(std::span<const double> room);
  bool isOpen(const ChannelColumn& column) const;

  // `prices`: by row, per unit.
  const std::vector<Offer>& offers(std::span<const double> prices);
  // No open channel costs less.
  double atLeast() const { return atLeast_; }
  std::int64_t work() const { return search_.work(); }

  // A column of this order, with what it takes.
  ChannelColumn columnOf(std::vector<int> gpus, int startNet, int endNet, int channels) const;

 private:
  // Part of the load that a hop to or from a NET carries.
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
  std::vector<double> room_;
  OrderSearch search_;
  std::vector<Offer> offers_;
  double atLeast_ = kClosed;
};

}  // namespace xylem
