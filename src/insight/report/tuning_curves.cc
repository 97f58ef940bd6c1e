#include "insight/report/tuning_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/tuning/bus_bandwidth.h"
#include "planner/tuning/choice_ranges.h"

namespace xylem {
namespace {

constexpr int kFirstPower = 3, kLastPower = 33;

std::string nameOf(Algorithm algorithm, Protocol protocol) {
  return fmt::format("{}/{}", name(algorithm), name(protocol));
}

class CurvesOf {
 public:
  CurvesOf(const TuningModel& model, Collective collective, std::span<const std::uint64_t> sizes)
      : model_(model), sizes_(sizes) {
    made_.collective = collective;
  }

  CollectiveCurves make() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const Choice choice = choose(model_, {.collective = made_.collective, .bytes = sizes_[i]});
      for (int k = 0; k < choice.usable; ++k) addPoint(choice.ranking[static_cast<std::size_t>(k)], i);
    }
    for (const ChoiceRange& range : choiceRanges(model_, {.collective = made_.collective})) addRange(range);
    addExcluded();
    return std::move(made_);
  }

 private:
  int curveOf(const std::string& name) {
    for (std::size_t i = 0; i < made_.curves.size(); ++i)
      if (made_.curves[i].name == name) return static_cast<int>(i);
    made_.curves.push_back({name, std::vector<CurvePoint>(sizes_.size())});
    return static_cast<int>(made_.curves.size()) - 1;
  }

  void addPoint(const Candidate& candidate, std::size_t size) {
    const int curve = curveOf(nameOf(candidate.algorithm, candidate.protocol));
    made_.curves[static_cast<std::size_t>(curve)].points[size] = {
        candidate.time,
        static_cast<float>(busBandwidth(made_.collective, model_.input.ranks, sizes_[size], candidate.time))};
  }

  void addRange(const ChoiceRange& range) {
    const Pick& pick = range.pick;
    const int curve = pick.runs ? curveOf(nameOf(pick.algorithm, pick.protocol)) : -1;
    const auto at = [&](std::uint64_t bytes) {
      return pick.runs ? predictedTime(model_, {.collective = made_.collective, .bytes = bytes},
                                       pick.algorithm, pick.protocol)
                       : 0.0f;
    };
    if (made_.stretches.empty() || made_.stretches.back().curve != curve)
      made_.stretches.push_back(
          {range.first, range.last, curve, pick.channels, pick.channels, at(range.first), 0});
    CurveStretch& stretch = made_.stretches.back();
    stretch.last = range.last;
    stretch.lastTime = at(range.last);
    stretch.leastChannels = std::min(stretch.leastChannels, pick.channels);
    stretch.mostChannels = std::max(stretch.mostChannels, pick.channels);
  }

  // What the job or the settings forbid; not what no job could do.
  void addExcluded() {
    const Choice choice = choose(model_, {.collective = made_.collective, .bytes = 1});
    for (const Candidate& candidate : choice.ranking) {
      if (candidate.excluded == Exclusion::kNone || candidate.excluded == Exclusion::kOneRank ||
          candidate.excluded == Exclusion::kNotOffered || candidate.excluded == Exclusion::kSimpleOnly)
        continue;
      std::string reason = explain(candidate, choice.operation, model_);
      if (std::find(made_.excluded.begin(), made_.excluded.end(), reason) == made_.excluded.end())
        made_.excluded.push_back(std::move(reason));
    }
  }

  const TuningModel& model_;
  std::span<const std::uint64_t> sizes_;
  CollectiveCurves made_;
};

}  // namespace

std::vector<std::uint64_t> curveSizes() {
  std::vector<std::uint64_t> sizes;
  for (int power = kFirstPower; power <= kLastPower; ++power) {
    const std::uint64_t size = std::uint64_t{1} << power;
    sizes.push_back(size);
    if (power < kLastPower) sizes.push_back(size + size / 2);
  }
  return sizes;
}

std::vector<CollectiveCurves> tuningCurves(const TuningModel& model, std::span<const std::uint64_t> sizes) {
  std::vector<CollectiveCurves> all;
  for (Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kBroadcast, Collective::kReduce})
    all.push_back(CurvesOf(model, collective, sizes).make());
  return all;
}

}  // namespace xylem
