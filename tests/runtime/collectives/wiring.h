#pragma once
// The queues between ranks, for tests that put jobs together by hand.
//
//   for (const Link& link : linksOf(job.collective, job.algorithm, order, parents)) connect(link);

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "core/kinds.h"

namespace xylem::testing {

// The writer calls the queue `to`, the reader `from`.
struct Link {
  std::size_t writer = 0;
  std::size_t to = 0;
  std::size_t reader = 0;
  std::size_t from = 0;
};

inline std::vector<int> shuffledRanks(int ranks, std::mt19937& random) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

// A tree in which no rank has more than three children: the parent of each rank, or -1.
inline std::vector<int> randomTree(int ranks, std::mt19937& random) {
  const std::vector<int> order = shuffledRanks(ranks, random);
  std::vector<int> parents(order.size(), -1), below(order.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t parent = random() % i;
    while (below[parent] == 3) parent = random() % i;
    ++below[parent];
    parents[static_cast<std::size_t>(order[i])] = order[parent];
  }
  return parents;
}

inline std::vector<Link> ringLinks(const std::vector<int>& order) {
  std::vector<Link> links;
  for (std::size_t i = 0; i < order.size(); ++i)
    links.push_back(
        {static_cast<std::size_t>(order[i]), 0, static_cast<std::size_t>(order[(i + 1) % order.size()]), 0});
  return links;
}

inline std::vector<Link> treeLinks(const std::vector<int>& parents) {
  std::vector<std::size_t> below(parents.size(), 0);
  std::vector<Link> links;
  for (std::size_t r = 0; r < parents.size(); ++r) {
    if (parents[r] < 0) continue;
    const auto parent = static_cast<std::size_t>(parents[r]);
    const std::size_t slot = ++below[parent];
    links.push_back({r, 0, parent, slot});
    links.push_back({parent, slot, r, 0});
  }
  return links;
}

inline std::vector<Link> patLinks(std::size_t ranks, bool upwards) {
  std::vector<Link> links;
  for (std::size_t k = 0; (std::size_t{1} << k) < ranks; ++k)
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::size_t up = (r + (std::size_t{1} << k)) % ranks;
      links.push_back(upwards ? Link{r, k, up, k} : Link{up, k, r, k});
    }
  return links;
}

inline std::vector<Link> linksOf(Collective collective, Algorithm algorithm, const std::vector<int>& order,
                                 const std::vector<int>& parents) {
  if (algorithm == Algorithm::kTree) return treeLinks(parents);
  if (algorithm == Algorithm::kPat) return patLinks(order.size(), collective == Collective::kAllGather);
  return ringLinks(order);
}

// All pairs of a collective and an algorithm.
struct Kind {
  Collective collective;
  Algorithm algorithm;
};
constexpr Kind kKinds[] = {
    {Collective::kAllReduce, Algorithm::kRing},     {Collective::kAllGather, Algorithm::kRing},
    {Collective::kReduceScatter, Algorithm::kRing}, {Collective::kBroadcast, Algorithm::kRing},
    {Collective::kReduce, Algorithm::kRing},        {Collective::kAllReduce, Algorithm::kTree},
    {Collective::kAllGather, Algorithm::kPat},      {Collective::kReduceScatter, Algorithm::kPat},
};

}  // namespace xylem::testing
