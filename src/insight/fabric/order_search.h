#pragma once
// Searches for an order of hosts that takes less time. It tries all orders if they are few, and otherwise
// swaps two hosts as long as that helps. The same input always gives the same order.
//
//   HostOrderSearch search(traffic, attachments, network, quiet, kinds, maxTimes, {.seed = 1});
//   std::vector<int> better = search.isSmall() ? search.tryAll(order) : search.improve(order, mayChange);

#include <cstdint>
#include <functional>
#include <vector>

#include "insight/fabric/congestion.h"
#include "insight/fabric/score.h"

namespace xylem::fabric {

// Orders are compared by the sum of the slowdowns of rings and trees, then by the load of all links between
// switches. An order that exceeds the permitted time of rings or of trees loses to all others.
struct OrderCost {
  double slowdown = 0;
  double load = 0;

  bool operator<(const OrderCost& other) const;
};

struct SearchLimits {
  std::uint64_t seed = 1;
  int maxArrangements = 20'000;       // orders are all tried up to this number
  long long exactWork = 100'000'000;  // and up to this much work (Congestion::work())
  long long localWork = 60'000'000;   // limit of work of each local search
};

class HostOrderSearch {
 public:
  // `kindOf`: by host; swapping two hosts of one kind has no effect. `maxTimes`: the permitted times of rings
  // and of trees, in seconds per GB.
  HostOrderSearch(const Traffic& traffic, const Attachments& attachments, FabricGraph& network,
                  const QuietTimes& quiet, std::vector<int> kindOf, const ByTraffic<double>& maxTimes,
                  const SearchLimits& limits);

  OrderCost cost(const std::vector<int>& order);

  // Returns whether there are few enough orders for tryAll(), which returns the best one, or `order` if none
  // is better.
  bool isSmall() const;
  std::vector<int> tryAll(const std::vector<int>& order);

  // Improves `order` by swaps; only hosts for which `mayChange(a, b)` is true are swapped.
  std::vector<int> improve(const std::vector<int>& order, const std::function<bool(int, int)>& mayChange);

  long long tried() const { return tried_; }

 private:
  OrderCost costNow();

  FabricGraph& network_;
  QuietTimes quiet_;
  std::vector<int> kindOf_;
  ByTraffic<double> maxTimes_;
  SearchLimits limits_;
  Congestion congestion_;
  long long orderWork_ = 0;  // to add up the loads of one order
  long long scanned_ = 0;    // links read by costNow()
  long long tried_ = 0;      // number of orders compared
};

}  // namespace xylem::fabric
