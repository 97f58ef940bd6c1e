// The cheapest order, compared with all permutations.
#include "insight/optimum/orders.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace xylem::optimum {
namespace {

OrderCosts anyCosts(int gpus, bool cycle) {
  OrderCosts costs(gpus);
  costs.cycle = cycle;
  const auto cost = [] { return static_cast<double>(*rc::gen::inRange(0, 20)); };
  for (int a = 0; a < gpus; ++a) {
    costs.start[static_cast<std::size_t>(a)] = cost();
    costs.end[static_cast<std::size_t>(a)] = cost();
    for (int b = 0; b < gpus; ++b) {
      if (a == b) continue;
      costs.arc(a, b) = *rc::gen::inRange(0, 6) == 0 ? kClosed : cost();
      if (!cycle) costs.head(a, b) = cost();
    }
  }
  return costs;
}

double costOf(const OrderCosts& costs, const std::vector<int>& order) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  double sum = costs.cycle ? costs.arc(order.back(), order.front()) : costs.start[at(order.front())];
  if (!costs.cycle) sum += costs.end[at(order.back())] + costs.head(order[0], order[1]);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) sum += costs.arc(order[i], order[i + 1]);
  return sum;
}

TEST(OrderSearch, FindsTheCheapest) {
  EXPECT_TRUE(rc::check([] {
    const int gpus = *rc::gen::inRange(2, 7);
    const bool cycle = *rc::gen::arbitrary<bool>();
    const OrderCosts costs = anyCosts(gpus, cycle);
    std::vector<int> order(static_cast<std::size_t>(gpus));
    std::iota(order.begin(), order.end(), 0);
    double best = kClosed;
    do best = std::min(best, costOf(costs, order));
    while (std::next_permutation(order.begin(), order.end()));
    OrderSearch search;
    search.run(costs);
    RC_ASSERT(search.atLeast() == best);
    RC_ASSERT(search.orders().empty() == (best == kClosed));
    for (const Order& found : search.orders()) RC_ASSERT(costOf(costs, found.gpus) == found.cost);
    if (best < kClosed) RC_ASSERT(search.orders().front().cost == best);
  }));
}

TEST(OrderSearch, GivesABoundBeyondSixteenGpus) {
  constexpr int kGpus = 20;
  OrderCosts costs(kGpus);
  costs.cycle = true;
  for (int a = 0; a < kGpus; ++a)
    for (int b = 0; b < kGpus; ++b)
      if (a != b) costs.arc(a, b) = (a + 1) % kGpus == b ? 1 : 2 + (a * 7 + b) % 5;
  OrderSearch search;
  search.run(costs);
  ASSERT_FALSE(search.orders().empty());
  EXPECT_EQ(search.orders().front().cost, kGpus);
  EXPECT_LE(search.atLeast(), kGpus);
}

}  // namespace
}  // namespace xylem::optimum
