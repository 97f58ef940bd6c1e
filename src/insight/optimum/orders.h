#pragma once
// The cheapest orders in which to visit every GPU once, as a path or as a cycle (a travelling salesman). A
// channel is such an order.
//
//   OrderCosts costs(gpus);
//   costs.arc(a, b) = 0.5; ...
//   OrderSearch search;
//   search.run(costs);                       // the cheapest order, and some more
//   for (const Order& order : search.orders()) ... order.gpus, order.cost ...
//
// Up to kMaxExactGpus GPUs the search is exact, by dynamic programming over sets of GPUs. With more it uses
// branch and bound with a limit of steps. No order costs less than atLeast() in either case.

#include <cstdint>
#include <limits>
#include <vector>

namespace xylem::optimum {

constexpr double kClosed = std::numeric_limits<double>::infinity();

// Costs are not negative; kClosed if the hop is impossible.
class OrderCosts {
 public:
  explicit OrderCosts(int gpus);

  int gpus() const { return gpus_; }
  // From GPU to GPU.
  double& arc(int a, int b) { return arcs_[at(a, b)]; }
  double arc(int a, int b) const { return arcs_[at(a, b)]; }
  // Additional cost if `a` is first and `b` second.
  double& head(int a, int b) { return heads_[at(a, b)]; }
  double head(int a, int b) const { return heads_[at(a, b)]; }

  std::vector<double> start, end;  // by GPU: cost of being first, or last
  bool cycle = false;              // orders start at GPU 0 and return to it; start and end are ignored

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
  static constexpr int kMaxExactGpus = 16;

  void run(const OrderCosts& costs);

  // Cheapest first, without closed ones. Up to kMaxExactGpus GPUs: the cheapest order for each first GPU, or
  // for each second GPU of a cycle. With more: the orders that branch and bound improved on, the best first.
  const std::vector<Order>& orders() const { return orders_; }
  double atLeast() const { return atLeast_; }
  // Counts the steps of all runs.
  std::int64_t work() const { return work_; }

 private:
  void runSingle(const OrderCosts& costs);
  void runExact(const OrderCosts& costs);
  void runBounded(const OrderCosts& costs);
  void fillTails(const OrderCosts& costs);
  Order trace(const OrderCosts& costs, int first, int second, double cost) const;

  std::vector<double> tails_;  // by set of GPUs and the first one of it: the least cost to the end
  std::vector<Order> orders_;
  double atLeast_ = kClosed;
  std::int64_t work_ = 0;
};

}  // namespace xylem::optimum
