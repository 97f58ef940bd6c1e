#pragma once
// Finds the best channels of a small host by trying all, with an accounting of its own, independent of the
// search's.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "planner/search/search_space.h"

namespace xylem::testing {

// The GB/s that a channel of 1 GB/s takes of every link.
using LinkLoad = std::vector<double>;

// All rings or chains of a host without NETs whose paths are no farther than SYS.
inline std::vector<LinkLoad> allChannels(const search::SearchSpace& space, bool ring) {
  std::vector<int> order(static_cast<std::size_t>(space.gpuCount()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<LinkLoad> all;
  do {
    if (ring && order.front() != 0) break;  // the same rings again
    LinkLoad load(space.system().links().size(), 0);
    bool open = true;
    const auto walk = [&](int a, int b) {
      const search::Route& route = space.gpuToGpu(a, b);
      open &= route.hops > 0 && route.type <= paths::PathType::kSys &&
              (ring || route.reverseType <= paths::PathType::kSys);
      for (const search::RouteStep& step : space.stepsOf(route))
        load[static_cast<std::size_t>(step.link)] += static_cast<double>(search::Load(1).amount(step.share));
    };
    for (std::size_t i = 0; i + 1 < order.size(); ++i) walk(order[i], order[i + 1]);
    if (ring) walk(order.back(), order.front());
    if (open && std::find(all.begin(), all.end(), load) == all.end()) all.push_back(load);
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

// Returns the greatest total bandwidth of `channels` equally fast ones, none faster than `fastest`.
inline double bestTogether(const search::SearchSpace& space, const std::vector<LinkLoad>& all, int channels,
                           double fastest) {
  double best = 0;
  LinkLoad sum(space.system().links().size(), 0);
  const auto choose = [&](const auto& self, std::size_t from, int left) -> void {
    if (left == 0) {
      double each = fastest;
      for (std::size_t link = 0; link < sum.size(); ++link) {
        const double has = static_cast<double>(space.system().links()[link].bandwidth);
        if (sum[link] > 0) each = std::min(each, std::max(has, std::round(has * 1000) / 1000) / sum[link]);
      }
      best = std::max(best, each * channels);
      return;
    }
    for (std::size_t i = from; i < all.size(); ++i) {
      for (std::size_t link = 0; link < sum.size(); ++link) sum[link] += all[i][link];
      self(self, i, left - 1);
      for (std::size_t link = 0; link < sum.size(); ++link) sum[link] -= all[i][link];
    }
  };
  choose(choose, 0, channels);
  return best;
}

}  // namespace xylem::testing
