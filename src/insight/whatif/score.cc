#include "insight/whatif/score.h"

#include <algorithm>

#include "insight/optimum/optimum.h"
#include "planner/plan/json_value.h"
#include "planner/tuning/choice.h"

namespace xylem::whatif {
namespace {

constexpr std::uint64_t kLargeMessage = std::uint64_t{1} << 30;
constexpr double kBytesPerUs = 1000.0;  // 1 GB/s in bytes per microsecond

// The smallest value among the kinds of ranks: the slowest one decides.
template <typename Of>
double leastOf(const plan::Plan& plan, Of of) {
  double least = 0;
  for (std::size_t view = 0; view < plan.hostPlans.size(); ++view) {
    const double value = of(view);
    least = view == 0 ? value : std::min(least, value);
  }
  return least;
}

// The bus bandwidth that the tuning model predicts for an AllReduce of 1 GiB.
double allReduce(const plan::Plan& plan) {
  const double ranks = plan.job().ranks();
  if (ranks < 2) return 0;
  return leastOf(plan, [&](std::size_t view) {
    const tuning::Choice choice =
        tuning::choose(plan.tuning[view], {.collective = Collective::kAllReduce, .bytes = kLargeMessage});
    const tuning::Candidate* best = choice.best();
    if (best == nullptr || best->time <= 0) return 0.0;
    return static_cast<double>(kLargeMessage) / (static_cast<double>(best->time) * kBytesPerUs) * 2 *
           (ranks - 1) / ranks;
  });
}

// The bandwidth of all rings of a host together; in jobs of several nodes, that to the NETs.
double rings(const plan::Plan& plan) {
  const bool network = plan.connections.nodes.count() > 1;
  return leastOf(plan, [&](std::size_t view) {
    const search::ChannelGraph& ring = plan.hostPlans[view]->ring();
    return static_cast<double>(ring.nChannels) * static_cast<double>(network ? ring.bwInter : ring.bwIntra);
  });
}

// The upper bound for any rings on the host.
double ringBound(const plan::Plan& plan) {
  return leastOf(plan, [&](std::size_t view) {
    const auto bound = optimum::boundOf(plan, *plan.hostPlans[view], search::GraphKind::kRing);
    return bound ? bound->bound.bandwidth : 0.0;
  });
}

constexpr ScoreKind kKinds[] = {
    {"allReduceBusGBps", "AllReduce bus GB/s", allReduce},
    {"ringGBps", "rings GB/s", rings},
    {"ringBoundGBps", "bound GB/s", ringBound},
};

}  // namespace

std::span<const ScoreKind> scoreKinds() { return kKinds; }

Scores scoresOf(const plan::Plan& plan) {
  Scores scores;
  for (const ScoreKind& kind : kKinds) scores.push_back(kind.of(plan));
  return scores;
}

plan::Json toJson(const Scores& scores) {
  plan::Json json = plan::Json::object();
  for (std::size_t i = 0; i < scores.size(); ++i) json[kKinds[i].key] = scores[i];
  return json;
}

plan::Json toJson(const Scores& before, const Scores& after) {
  plan::Json json = plan::Json::object();
  for (std::size_t i = 0; i < before.size(); ++i)
    json[kKinds[i].key] = {{"before", before[i]}, {"after", after[i]}};
  return json;
}

}  // namespace xylem::whatif
