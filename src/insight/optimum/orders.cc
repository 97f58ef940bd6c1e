#include "insight/optimum/orders.h"

#include <algorithm>
#include <bit>

namespace xylem::optimum {
namespace {

// Limit of branch and bound, per run.
constexpr std::int64_t kMaxSteps = 100000;

std::size_t square(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }

// Depth-first branch and bound, cheapest arc first. The lower bound of a partial order is its cost, plus the
// cheapest arc into each GPU that is left, plus the cheapest ending; branches whose bound reaches the best
// order are cut.
class BranchAndBound {
 public:
  explicit BranchAndBound(const OrderCosts& costs)
      : costs_(costs), gpus_(costs.gpus()), used_(static_cast<std::size_t>(gpus_), 0) {
    for (int b = 0; b < gpus_; ++b) {
      double least = kClosed;
      for (int a = 0; a < gpus_; ++a)
        if (a != b) least = std::min(least, costs.arc(a, b));
      into_.push_back(least);
      endings_ = std::min(endings_, costs.cycle ? costs.arc(b, 0) : costs.end[static_cast<std::size_t>(b)]);
    }
    for (int b = 0; b < gpus_; ++b) others_ += into_[static_cast<std::size_t>(b)];
  }

  void run(std::vector<Order>& orders) {
    double root = kClosed;
    for (int first = 0; first < (costs_.cycle ? 1 : gpus_); ++first) {
      const double cost = costs_.cycle ? 0 : costs_.start[static_cast<std::size_t>(first)];
      const double left = others_ - into_[static_cast<std::size_t>(first)];
      root = std::min(root, cost + left + endings_);
      visit(first, cost, left);
    }
    for (auto order = improvements_.rbegin(); order != improvements_.rend(); ++order)
      orders.push_back(*order);
    atLeast_ = steps_ < kMaxSteps ? best_ : std::min(root, best_);
  }
  double atLeast() const { return atLeast_; }
  std::int64_t steps() const { return steps_; }

 private:
  // `left`: sum of the cheapest arcs into the GPUs that are not yet visited.
  void visit(int gpu, double cost, double left) {
    if (steps_ >= kMaxSteps || cost == kClosed || cost + left + endings_ >= best_) return;
    ++steps_;
    path_.push_back(gpu);
    used_[static_cast<std::size_t>(gpu)] = 1;
    if (static_cast<int>(path_.size()) == gpus_) {
      const double ending = costs_.cycle ? costs_.arc(gpu, 0) : costs_.end[static_cast<std::size_t>(gpu)];
      if (cost + ending < best_) {
        best_ = cost + ending;
        improvements_.push_back({best_, path_});
      }
    } else {
      std::vector<std::pair<double, int>> next;
      for (int b = 0; b < gpus_; ++b)
        if (used_[static_cast<std::size_t>(b)] == 0)
          next.emplace_back(costs_.arc(gpu, b) + (path_.size() == 1 ? costs_.head(gpu, b) : 0), b);
      std::sort(next.begin(), next.end());
      for (const auto& [step, b] : next) visit(b, cost + step, left - into_[static_cast<std::size_t>(b)]);
    }
    used_[static_cast<std::size_t>(gpu)] = 0;
    path_.pop_back();
  }

  const OrderCosts& costs_;
  int gpus_;
  std::vector<std::uint8_t> used_;
  std::vector<double> into_;  // by GPU: the cheapest arc to it
  double others_ = 0;
  double endings_ = kClosed;
  std::vector<int> path_;
  std::vector<Order> improvements_;
  double best_ = kClosed, atLeast_ = kClosed;
  std::int64_t steps_ = 0;
};

}  // namespace

OrderCosts::OrderCosts(int gpus)
    : start(static_cast<std::size_t>(gpus), 0),
      end(static_cast<std::size_t>(gpus), 0),
      gpus_(gpus),
      arcs_(square(gpus), kClosed),
      heads_(square(gpus), 0) {}

void OrderSearch::run(const OrderCosts& costs) {
  orders_.clear();
  atLeast_ = kClosed;
  if (costs.gpus() == 1)
    runSingle(costs);
  else if (costs.gpus() <= kMaxExactGpus)
    runExact(costs);
  else
    runBounded(costs);
}

void OrderSearch::runSingle(const OrderCosts& costs) {
  const double cost = costs.start[0] + costs.end[0];
  if (costs.cycle || cost == kClosed) return;
  orders_.push_back({cost, {0}});
  atLeast_ = cost;
}

// Held and Karp's dynamic programming: the cheapest way through a set from its GPU `first` to the end is the
// least, over all seconds, of the arc to it plus the cheapest way through the set without `first`. Smaller
// sets have smaller numbers, so ascending order suffices. Entries are tails_[set * gpus + first]; the start
// of a cycle is in no set.
void OrderSearch::fillTails(const OrderCosts& costs) {
  const int gpus = costs.gpus();
  const std::uint32_t sets = 1u << gpus;
  const std::uint32_t skipped = costs.cycle ? 1 : 0;
  tails_.assign(static_cast<std::size_t>(sets) * static_cast<std::size_t>(gpus), kClosed);
  for (std::uint32_t set = 1; set < sets; ++set) {
    if ((set & skipped) != 0) continue;
    double* const row = &tails_[static_cast<std::size_t>(set) * static_cast<std::size_t>(gpus)];
    for (std::uint32_t firsts = set; firsts != 0; firsts &= firsts - 1) {
      const int first = std::countr_zero(firsts);
      const std::uint32_t rest = set & ~(1u << first);
      if (rest == 0) {
        row[first] = costs.cycle ? costs.arc(first, 0) : costs.end[static_cast<std::size_t>(first)];
        continue;
      }
      const double* const tails = &tails_[static_cast<std::size_t>(rest) * static_cast<std::size_t>(gpus)];
      double best = kClosed;
      for (std::uint32_t seconds = rest; seconds != 0; seconds &= seconds - 1) {
        const int second = std::countr_zero(seconds);
        best = std::min(best, costs.arc(first, second) + tails[second]);
      }
      row[first] = best;
    }
    work_ += std::popcount(set);
  }
}

// Follows the table from two given GPUs to the end.
Order OrderSearch::trace(const OrderCosts& costs, int first, int second, double cost) const {
  const auto gpus = static_cast<std::size_t>(costs.gpus());
  Order order{cost, {first, second}};
  std::uint32_t left = ((1u << gpus) - 1) & ~(1u << first) & ~(1u << second);
  while (left != 0) {
    const int last = order.gpus.back();
    int next = -1;
    double best = kClosed;
    for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
      const int gpu = std::countr_zero(rest);
      const double way = costs.arc(last, gpu) + tails_[left * gpus + static_cast<std::size_t>(gpu)];
      if (next < 0 || way < best) next = gpu, best = way;
    }
    order.gpus.push_back(next);
    left &= ~(1u << next);
  }
  return order;
}

void OrderSearch::runExact(const OrderCosts& costs) {
  fillTails(costs);
  const int gpus = costs.gpus();
  const std::uint32_t all = (1u << gpus) - 1;
  const auto wayOn = [&](int first, int second) {
    const double start = costs.cycle ? 0 : costs.start[static_cast<std::size_t>(first)];
    const std::size_t rest = all & ~(1u << first);
    return start + costs.head(first, second) + costs.arc(first, second) +
           tails_[rest * static_cast<std::size_t>(gpus) + static_cast<std::size_t>(second)];
  };
  for (int first = 0; first < (costs.cycle ? 1 : gpus); ++first) {
    double best = kClosed;
    int with = -1;
    for (int second = 0; second < gpus; ++second) {
      if (second == first) continue;
      const double cost = wayOn(first, second);
      if (cost == kClosed) continue;
      if (costs.cycle) orders_.push_back(trace(costs, first, second, cost));
      if (cost < best) best = cost, with = second;
    }
    if (!costs.cycle && with >= 0) orders_.push_back(trace(costs, first, with, best));
  }
  std::stable_sort(orders_.begin(), orders_.end(),
                   [](const Order& a, const Order& b) { return a.cost < b.cost; });
  if (!orders_.empty()) atLeast_ = orders_.front().cost;
}

void OrderSearch::runBounded(const OrderCosts& costs) {
  BranchAndBound search(costs);
  search.run(orders_);
  atLeast_ = search.atLeast();
  work_ += search.steps();
}

}  // namespace xylem::optimum
