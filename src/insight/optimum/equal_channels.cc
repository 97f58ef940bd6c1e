#include "insight/optimum/equal_channels.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace xylem::optimum {
namespace {

// Sets with at least this part of the best set's bandwidth count as equally good.
constexpr double kAsGood = 0.999;
constexpr std::size_t kMaxSets = 16;
// Linear programs per dive, and columns tried in each step of it.
constexpr std::int64_t kMaxProgramsPerDive = 150;
constexpr int kMaxTried = 3;
// Bandwidths closer than this part count as equal.
constexpr double kSameBandwidth = 1e-7;
constexpr std::size_t kMaxPrices = 400;

bool fits(const ChannelColumn& column, const std::vector<double>& freeUnits) {
  return std::all_of(column.uses.begin(), column.uses.end(),
                     [&](const Use& use) { return use.units <= freeUnits[index(use.row)] + kSlack; });
}

void take(const ChannelColumn& column, std::vector<double>& freeUnits) {
  for (const Use& use : column.uses) freeUnits[index(use.row)] -= use.units;
}

}  // namespace

void EqualChannels::listBandwidths(const Request& request) {
  const Capacities& capacities = program_.capacities;
  const double least = request.above / request.maxChannels;
  std::vector<double> values = {request.fastest};
  for (int row = 0; row < capacities.rows(); ++row) {
    const double whole = capacities.capacity(row) * kWholeUnits;
    for (int taken = capacities.measure(row);; taken += capacities.measure(row)) {
      const double value = whole / taken;
      if (value < least || taken > request.maxChannels * 2 * kWholeUnits * capacities.gpus()) break;
      if (value < request.fastest) values.push_back(value);
    }
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  values.erase(std::unique(values.begin(), values.end(),
                           [](double a, double b) { return a - b < kSameBandwidth * a; }),
               values.end());
  bandwidths_.clear();
  for (const double value : values) bandwidths_.push_back({value, {}, -1});
}

// Returns an upper bound on the number of channels of this bandwidth, or `needed` if that many are not
// excluded. Prices of earlier programs often exclude them without solving another one.
int EqualChannels::maxChannelsAt(Bandwidth& bandwidth, int needed) {
  const Capacities& capacities = program_.capacities;
  if (bandwidth.maxChannels >= 0 && bandwidth.maxChannels < needed) return bandwidth.maxChannels;
  if (bandwidth.freeUnits.empty()) {
    for (int row = 0; row < capacities.rows(); ++row) {
      const double measures =
          capacities.capacity(row) * kWholeUnits / bandwidth.value / capacities.measure(row);
      bandwidth.freeUnits.push_back(std::floor(measures + kSlack) * capacities.measure(row));
    }
  }
  for (const auto& prices : prices_) {
    double paid = 0;
    for (std::size_t row = 0; row < prices.size(); ++row) paid += prices[row] * bandwidth.freeUnits[row];
    if (paid + kSlack < needed) return bandwidth.maxChannels = static_cast<int>(paid + kSlack);
  }
  const Packing::Outcome outcome = program_.packing.solveWhole(bandwidth.freeUnits, needed - kSlack);
  if (outcome.bound + kSlack >= needed) return needed;
  // The prices prove a bound at another bandwidth, too, but only if no hop was closed here that is open
  // there: only then does every channel cost at least 1 there.
  const auto closed = [&](int row) { return bandwidth.freeUnits[index(row)] < 2 * kWholeUnits; };
  bool anyClosed = false;
  for (int row = 0; row < capacities.rows(); ++row) anyClosed |= closed(row);
  if (!anyClosed && prices_.size() < kMaxPrices) prices_.push_back(outcome.prices);
  return bandwidth.maxChannels = static_cast<int>(outcome.bound + kSlack);
}

void EqualChannels::keepPart(const ChannelSet& set) {
  if (set.total() > part_.total()) part_ = set;
}

bool EqualChannels::takeOne(std::vector<double>& freeUnits, int left, ChannelSet& set,
                            const ChannelColumn& column) {
  const std::vector<double> before = freeUnits;
  take(column, freeUnits);
  set.columns.push_back(column);
  set.channels += column.channels;
  if (dive(freeUnits, left - column.channels, set)) return true;
  set.columns.pop_back();
  set.channels -= column.channels;
  freeUnits = before;
  return false;
}

// Finds `left` more channels in the free units, and takes those. On failure both are as they were. Solves the
// linear program, takes the whole parts of its amounts at once, and dives again; if that fails, tries the
// columns with the greatest amounts one by one.
bool EqualChannels::dive(std::vector<double>& freeUnits, int left, ChannelSet& set) {
  keepPart(set);
  if (left == 0) return true;
  if (divesLeft_-- <= 0) return false;
  Packing& packing = program_.packing;
  const Packing::Outcome outcome = packing.solveAllWhole(freeUnits, left - kSlack);
  if (outcome.bound + kSlack < left) return false;
  std::vector<std::pair<double, int>> amounts;
  for (int i = 0; i < packing.columns(); ++i)
    if (packing.isOpen(i) && packing.amount(i) > kSlack) amounts.emplace_back(-packing.amount(i), i);
  std::stable_sort(amounts.begin(), amounts.end());

  // Take the whole parts of all amounts at once.
  const std::vector<double> before = freeUnits;
  const ChannelSet outside = set;
  int taken = 0;
  for (const auto& [amount, i] : amounts) {
    const ChannelColumn column = packing.column(i);
    for (int copy = static_cast<int>(-amount + kSlack); copy > 0; --copy) {
      if (column.channels > left - taken || !fits(column, freeUnits)) break;
      take(column, freeUnits);
      set.columns.push_back(column);
      set.channels += column.channels;
      taken += column.channels;
    }
  }
  if (taken > 0) {
    if (dive(freeUnits, left - taken, set)) return true;
    freeUnits = before;
    set = outside;
  }
  int tried = 0;
  for (const auto& [amount, i] : amounts) {
    if (tried == kMaxTried) break;
    ChannelColumn column = packing.column(i);
    if (column.channels > left)  // only one channel is left: take one half of the pair
      column = program_.pricing.columnOf(column.gpus, column.startNet, column.endNet, 1);
    if (!fits(column, freeUnits)) continue;
    ++tried;
    if (takeOne(freeUnits, left, set, column)) return true;
  }
  return false;
}

EqualChannels::Result EqualChannels::run(const Request& request) {
  listBandwidths(request);
  part_ = {};
  if (prices_.empty()) prices_.push_back(program_.packing.solve(program_.capacityUnits()).prices);
  const std::int64_t workBefore = program_.packing.work();
  // The next bandwidth to try for each number of channels: the greatest total first, then the fewest
  // channels.
  struct Next {
    double total = 0;
    int channels = 0;
    std::size_t bandwidth = 0;
    bool operator<(const Next& other) const {
      return total != other.total ? total < other.total : channels > other.channels;
    }
  };
  std::priority_queue<Next> queue;
  const auto push = [&](int channels, std::size_t at) {
    if (at >= bandwidths_.size()) return;
    const double total = channels * bandwidths_[at].value;
    if (total > request.above) queue.push({total, channels, at});
  };
  for (int channels = request.minChannels; channels <= request.maxChannels; ++channels) push(channels, 0);
  Result result;
  result.ceiling = 0;
  while (!queue.empty()) {
    const Next next = queue.top();
    queue.pop();
    if (!result.sets.empty() && next.total < kAsGood * result.sets.front().total()) break;
    if (result.sets.size() == kMaxSets) break;
    if (program_.packing.work() - workBefore > request.work) {
      result.ceiling = std::max(result.ceiling, next.total);
      break;
    }
    Bandwidth& bandwidth = bandwidths_[next.bandwidth];
    if (maxChannelsAt(bandwidth, next.channels) >= next.channels) {
      ChannelSet set{0, bandwidth.value, {}};
      std::vector<double> freeUnits = bandwidth.freeUnits;
      divesLeft_ = kMaxProgramsPerDive;
      if (dive(freeUnits, next.channels, set)) {
        result.sets.push_back(std::move(set));
        result.ceiling = std::max(result.ceiling, next.total);
        continue;  // slower channels of the same number have a smaller total
      }
      result.ceiling = std::max(result.ceiling, next.total);  // neither found nor excluded
    }
    push(next.channels, next.bandwidth + 1);
  }
  const bool partCounts = part_.channels >= request.minChannels && part_.channels <= request.maxChannels;
  if (result.sets.empty() && partCounts && part_.total() > request.above) result.sets.push_back(part_);
  return result;
}

}  // namespace xylem::optimum
