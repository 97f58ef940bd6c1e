#pragma once
// The cheapest ways to visit every GPU once: what a channel is when links have prices.
//
//   OrderCosts costs(gpus);
//   costs.arc(a, b) = 0.5; ...
//   OrderSearch search;
//   search.run(costs);                       // the cheapest order, and some more
//   for (const Order& order : search.orders()) ... order.gpus, order.cost ...
//
// Up to kMostExact GPUs by dynamic programming over sets of GPUs; with more by branch and bound, which may
// run out of steps: no order costs less than atLeast() in any case.

#include <cstdint>
#include <limits>
#include <vector>

namespace xylem {

constexpr double kClosed = std::numeric_limits<double>::infinity();

// Costs are not negative; kClosed where there is no way.
class OrderCosts {
 public:
  explicit OrderCosts(int gpus);

  int gpus() const { return gpus_; }
  // From GPU to GPU.
  double& arc(int a, int b) { return arcs_[at(a, b)]; }
  double arc(int a, int b) const { return arcs_[at(a, b)]; }
  // What it costs that `a` is the first and `b` the second, besides the arc.
  double& head(int a, int b) { return heads_[at(a, b)]; }
  double head(int a, int b) const { return heads_[at(a, b)]; }

  std::vector<double> start, end;  // by GPU: to be the first, or the last
  bool cycle = false;              // back to the first, which is GPU 0; start and end cost nothing

 private:
  std::size_t at(int a, int b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(b);
  }
  int gpus_;
  std::vector<double> arcs_, heads_;
};

struct Order {
  double cost = kClosed;
  std::vector<int> gpus;
};

class OrderSearch {
 public:
  static constexpr int kMostExact = 16;

  void run(const OrderCosts& costs);

  // Cheapest first, none closed; each begins (a cycle: goes on) with another GPU.
  const std::vector<Order>& orders() const { return orders_; }
  double atLeast() const { return atLeast_; }
  // Steps taken so far, by all runs.
  std::int64_t work() const { return work_; }

 private:
  void runSingle(const OrderCosts& costs);
  void runExact(const OrderCosts& costs);
  void runBounded(const OrderCosts& costs);
  void fillTails(const OrderCosts& costs);
  Order trace(const OrderCosts& costs, int first, int second, double cost) const;

  std::vector<double> tails_;  // by set of GPUs and its first one: the cheapest way to the end
  std::vector<Order> orders_;
  double atLeast_ = kClosed;
  std::int64_t work_ = 0;
};

}  // namespace xylem
