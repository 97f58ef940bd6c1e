#include "insight/optimum/pricing.h"

#include <algorithm>
#include <numeric>

namespace xylem::optimum {
namespace {

// With more GPUs than this, rules with pairs offer only pairs. Rings that return to their own port would need
// a search per port, which takes long with many GPUs.
constexpr int kMaxGpusForEachPort = 12;

}  // namespace

Pricing::Pricing(const Capacities& capacities, const ChannelRules& rules)
    : capacities_(capacities), rules_(rules), freeUnits_(index(capacities.rows()), kClosed) {}

void Pricing::setFreeUnits(std::span<const double> freeUnits) {
  freeUnits_.assign(freeUnits.begin(), freeUnits.end());
}

double Pricing::cost(const Capacities::Hop& hop, std::span<const double> prices, Part part) const {
  if (!fits(hop, part)) return kClosed;
  double sum = 0;
  for (const Use& use : hop.uses) sum += prices[index(use.row)] * use.units;
  return sum / static_cast<int>(part);
}

bool Pricing::fits(const Capacities::Hop& hop, Part part) const {
  return hop.open && std::all_of(hop.uses.begin(), hop.uses.end(), [&](const Use& use) {
           return use.units <= (freeUnits_[index(use.row)] + kSlack) * static_cast<int>(part);
         });
}

void Pricing::addUses(ChannelColumn& column, const Capacities::Hop& hop, Part part) const {
  for (const Use& use : hop.uses) {
    const int units = use.units / static_cast<int>(part);
    const auto known = std::find_if(column.uses.begin(), column.uses.end(),
                                    [&](const Use& other) { return other.row == use.row; });
    if (known == column.uses.end())
      column.uses.push_back({use.row, units});
    else
      known->units += units;
  }
}

bool Pricing::mayEnd(int start, int end) const {
  if (rules_.pattern == search::Pattern::kTree) return start == end;
  const bool crosses = rules_.crossNic != 0 && rules_.pattern != search::Pattern::kSplitTree;
  return crosses || capacities_.samePort(start, end);
}

ChannelColumn Pricing::columnOf(std::vector<int> gpus, int startNet, int endNet, int channels) const {
  ChannelColumn column{std::move(gpus), startNet, endNet, channels, {}};
  const auto& order = column.gpus;
  const auto add = [&](int a, int b) {
    addUses(column, capacities_.gpuToGpu(a, b));
    if (channels == 2) addUses(column, capacities_.gpuToGpu(b, a));
  };
  for (std::size_t i = 0; i + 1 < order.size(); ++i) add(order[i], order[i + 1]);
  if (startNet < 0) {
    if (rules_.pattern == search::Pattern::kRing && order.size() > 1) add(order.back(), order.front());
    return column;
  }
  addUses(column, capacities_.netToGpu(startNet, order.front()));
  switch (rules_.pattern) {
    case search::Pattern::kBalancedTree:
      addUses(column, capacities_.gpuToNet(order[0], endNet), Part::kHalf);
      addUses(column, capacities_.gpuToNet(order[1], endNet), Part::kHalf);
      break;
    case search::Pattern::kSplitTree:
      addUses(column, capacities_.gpuToNet(order[1], endNet));
      break;
    case search::Pattern::kTree:
      addUses(column, capacities_.gpuToNet(order[0], endNet));
      break;
    default:
      addUses(column, capacities_.gpuToNet(order.back(), endNet));
      if (channels == 2) {
        addUses(column, capacities_.netToGpu(endNet, order.back()));
        addUses(column, capacities_.gpuToNet(order.front(), startNet));
      }
  }
  return column;
}

bool Pricing::isOpen(const ChannelColumn& column) const {
  const auto& order = column.gpus;
  const bool back = column.channels == 2;
  const auto open = [&](int a, int b) {
    return fits(capacities_.gpuToGpu(a, b)) && (!back || fits(capacities_.gpuToGpu(b, a)));
  };
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    if (!open(order[i], order[i + 1])) return false;
  if (column.startNet < 0)
    return rules_.pattern != search::Pattern::kRing || order.size() < 2 || open(order.back(), order.front());
  const auto in = [&](int net, int gpu) { return fits(capacities_.netToGpu(net, gpu)); };
  const auto out = [&](int gpu, int net, Part part) { return fits(capacities_.gpuToNet(gpu, net), part); };
  if (!in(column.startNet, order.front())) return false;
  switch (rules_.pattern) {
    case search::Pattern::kBalancedTree:
      return out(order[0], column.endNet, Part::kHalf) && out(order[1], column.endNet, Part::kHalf);
    case search::Pattern::kSplitTree:
      return out(order[1], column.endNet, Part::kWhole);
    case search::Pattern::kTree:
      return out(order[0], column.endNet, Part::kWhole);
    default:
      return out(order.back(), column.endNet, Part::kWhole) &&
             (!back ||
              (in(column.endNet, order.back()) && out(order.front(), column.startNet, Part::kWhole)));
  }
}

const std::vector<Pricing::Offer>& Pricing::offers(std::span<const double> prices) {
  offers_.clear();
  atLeast_ = kClosed;
  std::vector<int> nets(index(capacities_.nets()));
  std::iota(nets.begin(), nets.end(), 0);
  if (rules_.pattern != search::Pattern::kRing) {
    offerTrees(prices);
  } else if (nets.empty()) {
    offerCycles(prices);
  } else if (rules_.crossNic != 0 && !rules_.paired) {
    offerRings(prices, nets);
  } else {
    if (rules_.crossNic != 0) offerPairs(prices);
    for (const int first : nets) {
      if (rules_.crossNic != 0 && capacities_.gpus() > kMaxGpusForEachPort) break;
      std::vector<int> port;
      for (const int net : nets)
        if (capacities_.samePort(first, net)) port.push_back(net);
      if (port.front() == first) offerRings(prices, port);
    }
  }
  std::stable_sort(offers_.begin(), offers_.end(),
                   [](const Offer& a, const Offer& b) { return a.cost < b.cost; });
  return offers_;
}

// `symmetric`: an arc costs the hop and the hop back.
OrderCosts Pricing::arcCosts(std::span<const double> prices, bool symmetric) const {
  OrderCosts costs(capacities_.gpus());
  for (int a = 0; a < capacities_.gpus(); ++a)
    for (int b = 0; b < capacities_.gpus(); ++b)
      if (a != b)
        costs.arc(a, b) = cost(capacities_.gpuToGpu(a, b), prices) +
                          (symmetric ? cost(capacities_.gpuToGpu(b, a), prices) : 0);
  return costs;
}

void Pricing::take(const std::vector<Order>& orders, double atLeast, std::span<const int> startNets,
                   std::span<const int> endNets, int channels) {
  atLeast_ = std::min(atLeast_, atLeast / channels);
  for (const Order& order : orders) {
    const int start = startNets.empty() ? -1 : startNets[index(order.gpus.front())];
    const int end = endNets.empty() ? -1 : endNets[index(order.gpus.back())];
    offers_.push_back({order.cost / channels, columnOf(order.gpus, start, end, channels)});
  }
}

void Pricing::offerCycles(std::span<const double> prices) {
  OrderCosts costs = arcCosts(prices, false);
  costs.cycle = true;
  search_.run(costs);
  take(search_.orders(), search_.atLeast(), {}, {}, 1);
}

// Rings that start and end at one of `nets`. The NETs are chosen per GPU before the order is searched: the
// cheapest to start at it, and the cheapest to end from it.
void Pricing::offerRings(std::span<const double> prices, std::span<const int> nets) {
  OrderCosts costs = arcCosts(prices, false);
  const std::size_t gpus = index(capacities_.gpus());
  std::vector<int> startNets(gpus, -1), endNets(gpus, -1);
  for (std::size_t g = 0; g < gpus; ++g) {
    costs.start[g] = costs.end[g] = kClosed;
    for (const int net : nets) {
      const double in = cost(capacities_.netToGpu(net, static_cast<int>(g)), prices);
      const double out = cost(capacities_.gpuToNet(static_cast<int>(g), net), prices);
      if (in < costs.start[g]) costs.start[g] = in, startNets[g] = net;
      if (out < costs.end[g]) costs.end[g] = out, endNets[g] = net;
    }
  }
  search_.run(costs);
  take(search_.orders(), search_.atLeast(), startNets, endNets, 1);
}

// Pairs of a channel and its reverse: both ends are a start and an end, so the cheapest NET for both counts.
void Pricing::offerPairs(std::span<const double> prices) {
  OrderCosts costs = arcCosts(prices, true);
  const std::size_t gpus = index(capacities_.gpus());
  std::vector<int> nets(gpus, -1);
  for (std::size_t g = 0; g < gpus; ++g) {
    costs.start[g] = kClosed;
    for (int net = 0; net < capacities_.nets(); ++net) {
      const double both = cost(capacities_.netToGpu(net, static_cast<int>(g)), prices) +
                          cost(capacities_.gpuToNet(static_cast<int>(g), net), prices);
      if (both < costs.start[g]) costs.start[g] = both, nets[g] = net;
    }
    costs.end[g] = costs.start[g];
  }
  search_.run(costs);
  take(search_.orders(), search_.atLeast(), nets, nets, 2);
}

// Trees are chains of GPUs. Their NETs depend on the first two GPUs at most: data comes in at the first one
// and leaves from the first, the second or both, by the pattern.
void Pricing::offerTrees(std::span<const double> prices) {
  OrderCosts costs = arcCosts(prices, false);
  const int gpus = capacities_.gpus();
  const int nets = capacities_.nets();
  if (nets == 0) {
    search_.run(costs);
    return take(search_.orders(), search_.atLeast(), {}, {}, 1);
  }
  const bool balanced = rules_.pattern == search::Pattern::kBalancedTree;
  const bool single = rules_.pattern == search::Pattern::kTree;
  // The cheapest start and end NETs by the first two GPUs; their cost goes into the head of the order.
  std::vector<std::pair<int, int>> chosen(index(gpus * gpus), {-1, -1});
  const auto out = [&](int gpu, int net) {
    return cost(capacities_.gpuToNet(gpu, net), prices, balanced ? Part::kHalf : Part::kWhole);
  };
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < gpus; ++b) {
      if (a == b && gpus > 1) continue;
      double best = kClosed;
      for (int start = 0; start < nets; ++start) {
        const double in = cost(capacities_.netToGpu(start, a), prices);
        for (int end = 0; end < nets && in < best; ++end) {
          if (!mayEnd(start, end)) continue;
          const double sum = in + (balanced || single ? out(a, end) : 0) + (single ? 0 : out(b, end));
          if (sum < best) best = sum, chosen[index(a * gpus + b)] = {start, end};
        }
      }
      if (gpus > 1)
        costs.head(a, b) = best;
      else
        costs.start[0] = best;
    }
  }
  search_.run(costs);
  atLeast_ = std::min(atLeast_, search_.atLeast());
  for (const Order& order : search_.orders()) {
    const auto [start, end] = chosen[index(order.gpus[0] * gpus + order.gpus[gpus > 1 ? 1 : 0])];
    offers_.push_back({order.cost, columnOf(order.gpus, start, end, 1)});
  }
}

}  // namespace xylem::optimum
