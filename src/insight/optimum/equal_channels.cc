#include "insight/optimum/equal_channels.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace xylem {
namespace {

// Sets that have so much of the best one's bandwidth are as good as it.
constexpr double kAsGood = 0.999;
constexpr std::size_t kMostSets = 16;
// Programs per dive, and columns tried in each step of it.
constexpr std::int64_t kMostPrograms = 150;
constexpr int kMostTried = 3;
// Bandwidths closer than this are the same one.
constexpr double kSameBandwidth = 1e-7;
constexpr std::size_t kMostPrices = 400;

bool fits(const ChannelColumn& column, const std::vector<double>& room) {
  return std::all_of(column.uses.begin(), column.uses.end(),
                     [&](const Use& use) { return use.units <= room[index(use.row)] + kSlack; });
}

void take(const ChannelColumn& column, std::vector<double>& room) {
  for (const Use& use : column.uses) room[index(use.row)] -= use.units;
}

}  // namespace

void EqualChannels::listBandwidths(const Request& request) {
  const Capacities& capacities = program_.capacities;
  const double least = request.above / request.most;
  std::vector<double> values = {request.fastest};
  for (int row = 0; row < capacities.rows(); ++row) {
    const double whole = capacities.capacity(row) * kWholeUnits;
    for (int taken = capacities.measure(row);; taken += capacities.measure(row)) {
      const double value = whole / taken;
      if (value < least || taken > request.most * 2 * kWholeUnits * capacities.gpus()) break;
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

// How many channels of this bandwidth there may be, looked at as far as it takes to tell whether `needed`.
int EqualChannels::mostAt(Bandwidth& bandwidth, int needed) {
  const Capacities& capacities = program_.capacities;
  if (bandwidth.most >= 0 && bandwidth.most < needed) return bandwidth.most;
  if (bandwidth.room.empty()) {
    for (int row = 0; row < capacities.rows(); ++row) {
      const double measures =
          capacities.capacity(row) * kWholeUnits / bandwidth.value / capacities.measure(row);
      bandwidth.room.push_back(std::floor(measures + kSlack) * capacities.measure(row));
    }
  }
  for (const auto& prices : prices_) {
    double paid = 0;
    for (std::size_t row = 0; row < prices.size(); ++row) paid += prices[row] * bandwidth.room[row];
    if (paid + kSlack < needed) return bandwidth.most = static_cast<int>(paid + kSlack);
  }
  const Packing::Outcome outcome = program_.packing.solveWhole(bandwidth.room, needed - kSlack);
  if (outcome.bound + kSlack >= needed) return needed;
  // Prices hold for other bandwidths only if no hop was closed that is open there: then they still cost one.
  const auto closed = [&](int row) { return bandwidth.room[index(row)] < 2 * kWholeUnits; };
  bool anyClosed = false;
  for (int row = 0; row < capacities.rows(); ++row) anyClosed |= closed(row);
  if (!anyClosed && prices_.size() < kMostPrices) prices_.push_back(outcome.prices);
  return bandwidth.most = static_cast<int>(outcome.bound + kSlack);
}

void EqualChannels::keepPart(const ChannelSet& set) {
  if (set.total() > part_.total()) part_ = set;
}

bool EqualChannels::takeOne(std::vector<double>& room, int left, ChannelSet& set,
                            const ChannelColumn& column) {
  const std::vector<double> before = room;
  take(column, room);
  set.columns.push_back(column);
  set.channels += column.channels;
  if (dive(room, left - column.channels, set)) return true;
  set.columns.pop_back();
  set.channels -= column.channels;
  room = before;
  return false;
}

// Finds `left` more channels in the room. On failure room and set are as they were.
bool EqualChannels::dive(std::vector<double>& room, int left, ChannelSet& set) {
  keepPart(set);
  if (left == 0) return true;
  if (divesLeft_-- <= 0) return false;
  Packing& packing = program_.packing;
  const Packing::Outcome outcome = packing.solveAllWhole(room, left - kSlack);
  if (outcome.bound + kSlack < left) return false;
  std::vector<std::pair<double, int>> amounts;
  for (int i = 0; i < packing.columns(); ++i)
    if (packing.isOpen(i) && packing.amount(i) > kSlack) amounts.emplace_back(-packing.amount(i), i);
  std::stable_sort(amounts.begin(), amounts.end());

  // Whole parts are taken together.
  const std::vector<double> before = room;
  const ChannelSet outside = set;
  int taken = 0;
  for (const auto& [amount, i] : amounts) {
    const ChannelColumn column = packing.column(i);
    for (int copy = static_cast<int>(-amount + kSlack); copy > 0; --copy) {
      if (column.channels > left - taken || !fits(column, room)) break;
      take(column, room);
      set.columns.push_back(column);
      set.channels += column.channels;
      taken += column.channels;
    }
  }
  if (taken > 0) {
    if (dive(room, left - taken, set)) return true;
    room = before;
    set = outside;
  }
  int tried = 0;
  for (const auto& [amount, i] : amounts) {
    if (tried == kMostTried) break;
    ChannelColumn column = packing.column(i);
    if (column.channels > left)  // half of a pair is the last channel
      column = program_.pricing.columnOf(column.gpus, column.startNet, column.endNet, 1);
    if (!fits(column, room)) continue;
    ++tried;
    if (takeOne(room, left, set, column)) return true;
  }
  return false;
}

EqualChannels::Result EqualChannels::run(const Request& request) {
  listBandwidths(request);
  part_ = {};
  if (prices_.empty()) prices_.push_back(program_.packing.solve(program_.fullRoom()).prices);
  const std::int64_t workBefore = program_.packing.work();
  // By total, then by fewer channels: the next bandwidth to try for each number of channels.
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
  for (int channels = request.fewest; channels <= request.most; ++channels) push(channels, 0);
  Result result;
  result.ceiling = 0;
  while (!queue.empty()) {
    const Next next = queue.top();
    queue.pop();
    if (!result.sets.empty() && next.total < kAsGood * result.sets.front().total()) break;
    if (result.sets.size() == kMostSets) break;
    if (program_.packing.work() - workBefore > request.work) {
      result.ceiling = std::max(result.ceiling, next.total);
      break;
    }
    Bandwidth& bandwidth = bandwidths_[next.bandwidth];
    if (mostAt(bandwidth, next.channels) >= next.channels) {
      ChannelSet set{0, bandwidth.value, {}};
      std::vector<double> room = bandwidth.room;
      divesLeft_ = kMostPrograms;
      if (dive(room, next.channels, set)) {
        result.sets.push_back(std::move(set));
        result.ceiling = std::max(result.ceiling, next.total);
        continue;  // with fewer GB/s each, this number of channels has less
      }
      result.ceiling = std::max(result.ceiling, next.total);  // undecided
    }
    push(next.channels, next.bandwidth + 1);
  }
  const bool partCounts = part_.channels >= request.fewest && part_.channels <= request.most;
  if (result.sets.empty() && partCounts && part_.total() > request.above) result.sets.push_back(part_);
  return result;
}

}  // namespace xylem
