#pragma once
// Looks for an order of hosts that takes less time: all of them where there are few, otherwise by letting two
// hosts change places as long as that helps. The same input gives the same order.

#include <cstdint>
#include <functional>
#include <vector>

#include "insight/fabric/congestion.h"
#include "insight/fabric/score.h"

namespace xylem {

// What orders are compared by: first the slowdowns of rings and trees together, then how much all links
// between switches have to do. An order in which one of the two is slower than it may be loses to all others.
struct OrderCost {
  double slowdown = 0;
  double load = 0;

  bool operator<(const OrderCost& other) const;
};

struct SearchLimits {
  std::uint64_t seed = 1;
  int mostArrangements = 20'000;      // all are tried up to so many
  long long exactWork = 100'000'000;  // and so much adding up of loads
  long long localWork = 60'000'000;   // of each local search
};

class HostOrderSearch {
 public:
  // `kindOf`: as kindsOfSites(). `mostTimes`: no slower than this over rings and over trees, s per GB.
  HostOrderSearch(const Traffic& traffic, const Sites& sites, FabricGraph& network, const QuietTimes& quiet,
                  std::vector<int> kindOf, const ByTraffic<double>& mostTimes, const SearchLimits& limits);

  OrderCost cost(const std::vector<int>& order);

  // Whether there are few enough orders to try them all; then `tryAll` finds the best, `order` itself if none
  // is better.
  bool isSmall() const;
  std::vector<int> tryAll(const std::vector<int>& order);

  // From `order` on, by swaps of sites that `mayChange` places.
  std::vector<int> improve(const std::vector<int>& order, const std::function<bool(int, int)>& mayChange);

  long long tried() const { return tried_; }

 private:
  OrderCost costNow();

  FabricGraph& network_;
  QuietTimes quiet_;
  std::vector<int> kindOf_;
  ByTraffic<double> mostTimes_;
  SearchLimits limits_;
  Congestion congestion_;
  long long orderWork_ = 0;  // to add up one order
  long long scanned_ = 0;    // links looked at
  long long tried_ = 0;      // orders
};

}  // namespace xylem
