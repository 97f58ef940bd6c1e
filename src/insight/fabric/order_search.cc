#include "insight/fabric/order_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace xylem::fabric {
namespace {

// Greater than any slowdown that a fabric causes.
constexpr double kPenalty = 1e6;
// A local search ends after this many random swaps without a better order.
constexpr long long kPatience = 2000;
constexpr long long kPatiencePerPair = 4;

// SplitMix64, which gives the same numbers with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

std::vector<int> inOrder(int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::vector<int>> membersOf(const std::vector<int>& kindOf) {
  std::vector<std::vector<int>> members;
  for (std::size_t host = 0; host < kindOf.size(); ++host) {
    const auto kind = static_cast<std::size_t>(kindOf[host]);
    if (members.size() <= kind) members.resize(kind + 1);
    members[kind].push_back(static_cast<int>(host));
  }
  return members;
}

}  // namespace

bool OrderCost::operator<(const OrderCost& other) const {
  if (slowdown < other.slowdown * (1 - kSameScore)) return true;
  if (other.slowdown < slowdown * (1 - kSameScore)) return false;
  return load < other.load * (1 - kSameScore) - kSameScore;
}

HostOrderSearch::HostOrderSearch(const Traffic& traffic, const Attachments& attachments, FabricGraph& network,
                                 const QuietTimes& quiet, std::vector<int> kindOf,
                                 const ByTraffic<double>& maxTimes, const SearchLimits& limits)
    : network_(network),
      quiet_(quiet),
      kindOf_(std::move(kindOf)),
      maxTimes_(maxTimes),
      limits_(limits),
      congestion_(traffic, attachments, network, inOrder(attachments.count())),
      orderWork_(congestion_.work() + network.links() - network.firstInner()) {}

OrderCost HostOrderSearch::costNow() {
  ++tried_;
  OrderCost cost;
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    const double quiet = quiet_[kind];
    if (quiet <= 0) continue;
    double longest = quiet;
    double squares = 0;
    for (int link = network_.firstInner(); link < network_.links(); ++link) {
      const double time = congestion_.time(static_cast<int>(kind), link);
      longest = std::max(longest, time);
      // Squares favour many lightly loaded cables over few busy ones.
      squares += time * time * static_cast<double>(network_.link(link).cables);
    }
    cost.slowdown += longest / quiet;
    cost.load += squares / (quiet * quiet);
    const double allowed = std::max(maxTimes_[kind], quiet) * (1 + kSameScore);
    // Such an order loses to all permitted ones, but the search can still see whether it gets closer to the
    // limit.
    if (longest > allowed) cost.slowdown += kPenalty * longest / allowed;
  }
  scanned_ += kTrafficKinds * static_cast<long long>(network_.links() - network_.firstInner());
  return cost;
}

OrderCost HostOrderSearch::cost(const std::vector<int>& order) {
  congestion_.reorder(order);
  return costNow();
}

bool HostOrderSearch::isSmall() const {
  // Hosts of one kind are interchangeable: n! / (n1! n2! ...) orders differ, the multinomial coefficient.
  double arrangements = 1;
  std::vector<int> seen;
  for (std::size_t host = 0; host < kindOf_.size(); ++host) {
    const auto kind = static_cast<std::size_t>(kindOf_[host]);
    if (seen.size() <= kind) seen.resize(kind + 1);
    arrangements *= static_cast<double>(host + 1) / ++seen[kind];
    if (arrangements > limits_.maxArrangements) return false;
  }
  return arrangements * static_cast<double>(orderWork_) <= static_cast<double>(limits_.exactWork);
}

std::vector<int> HostOrderSearch::tryAll(const std::vector<int>& order) {
  const std::vector<std::vector<int>> members = membersOf(kindOf_);
  std::vector<int> best = order;
  OrderCost least = cost(order);
  std::vector<int> kinds = kindOf_;
  std::sort(kinds.begin(), kinds.end());
  // Permute kinds, not hosts, and fill each place with the next host of its kind: every distinct order once.
  do {
    std::vector<std::size_t> next(members.size(), 0);
    std::vector<int> candidate;
    for (int kind : kinds)
      candidate.push_back(members[static_cast<std::size_t>(kind)][next[static_cast<std::size_t>(kind)]++]);
    if (const OrderCost now = cost(candidate); now < least) {
      least = now;
      best = std::move(candidate);
    }
  } while (std::next_permutation(kinds.begin(), kinds.end()));
  return best;
}

// Hill climbing with random swaps: a swap stays unless it makes the order worse, so the search also crosses
// plateaus of equal cost. Half of the swaps are directed: they bring a host of the same kind as a neighbour's
// to a place, because orders that keep hosts of one switch together are usually good.
std::vector<int> HostOrderSearch::improve(const std::vector<int>& order,
                                          const std::function<bool(int, int)>& mayChange) {
  const std::vector<std::vector<int>> members = membersOf(kindOf_);
  const int count = static_cast<int>(order.size());
  OrderCost now = cost(order);
  std::vector<int> best = order;
  OrderCost least = now;
  if (members.size() < 2) return best;
  std::vector<int> placeOf(order.size());
  for (int place = 0; place < count; ++place)
    placeOf[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])] = place;
  const std::vector<int>& here = congestion_.order();
  Random random(limits_.seed);
  const long long end = congestion_.work() + scanned_ + limits_.localWork;
  // The number of pairs grows with the square of the hosts, and so does the number of vain draws allowed.
  const long long patience = kPatience + kPatiencePerPair * count * count;
  for (long long vain = 0; vain < patience && congestion_.work() + scanned_ + vain < end; ++vain) {
    const int place = random.below(count);
    int other = random.below(count);
    if (random.below(2) == 0) {
      // Take a host of the same kind as the neighbour of `place`.
      const int beside = (place + (random.below(2) == 0 ? 1 : count - 1)) % count;
      const auto& kind = members[static_cast<std::size_t>(
          kindOf_[static_cast<std::size_t>(here[static_cast<std::size_t>(beside)])])];
      other = placeOf[static_cast<std::size_t>(
          kind[static_cast<std::size_t>(random.below(static_cast<int>(kind.size())))])];
    }
    const int a = here[static_cast<std::size_t>(place)];
    const int b = here[static_cast<std::size_t>(other)];
    if (kindOf_[static_cast<std::size_t>(a)] == kindOf_[static_cast<std::size_t>(b)] || !mayChange(a, b))
      continue;
    congestion_.swap(place, other);
    const OrderCost then = costNow();
    if (now < then) {
      congestion_.swap(place, other);
      continue;
    }
    now = then;
    std::swap(placeOf[static_cast<std::size_t>(a)], placeOf[static_cast<std::size_t>(b)]);
    if (now < least) {
      least = now;
      best = here;
      vain = 0;
    }
  }
  return best;
}

}  // namespace xylem::fabric
