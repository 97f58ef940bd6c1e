#include "insight/optimum/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "core/spelling.h"
#include "planner/tuning/choice.h"

namespace xylem::optimum {
namespace {

constexpr std::uint64_t kFirstSize = 8;
constexpr std::uint64_t kLastSize = std::uint64_t{8} << 30;

double timeOf(const plan::Plan& plan, Collective collective, std::uint64_t bytes) {
  double slowest = 0;
  for (const tuning::TuningModel& model : plan.tuning) {
    const tuning::Choice choice = tuning::choose(model, {.collective = collective, .bytes = bytes});
    if (choice.best() == nullptr) return 0;
    slowest = std::max(slowest, static_cast<double>(choice.best()->time));
  }
  return slowest;
}

std::vector<JudgedRange> rangesWhere(const Judgement& judgement, bool (*counts)(double ratio)) {
  std::vector<JudgedRange> ranges;
  bool open = false;
  for (const JudgedTime& time : judgement.times) {
    const double ratio = time.ratio();
    if (!counts(ratio)) {
      open = false;
      continue;
    }
    if (!open || ranges.back().collective != time.collective)
      ranges.push_back({time.collective, time.bytes, time.bytes, ratio, ratio});
    open = true;
    ranges.back().last = time.bytes;
    ranges.back().leastRatio = std::min(ranges.back().leastRatio, ratio);
    ranges.back().greatestRatio = std::max(ranges.back().greatestRatio, ratio);
  }
  return ranges;
}

}  // namespace

Weights parseWeights(const std::vector<std::string>& words, const std::string& option) {
  Weights weights;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::optional<Collective> known = collectiveNamed(name);
    if (equals == std::string::npos || !known)
      throw InputError({option, 0}, fmt::format("`{}`", word),
                       "FUNCTION=WEIGHT, with AllReduce, AllGather, ReduceScatter, Broadcast or Reduce");
    char* end = nullptr;
    const std::string number = word.substr(equals + 1);
    const double weight = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(weight >= 0) || !std::isfinite(weight))
      throw InputError({option, 0}, fmt::format("`{}`", number), "a weight, 0 or more");
    weights.of[*known] = weight;
  }
  return weights;
}

Judgement judge(const plan::Plan& before, const plan::Plan& after, const Weights& weights) {
  Judgement judgement;
  double sum = 0;
  double weight = 0;
  for (const Collective collective : kAllCollectives)
    for (std::uint64_t bytes = kFirstSize; bytes <= kLastSize; bytes *= 2) {
      const JudgedTime time{collective, bytes, timeOf(before, collective, bytes),
                            timeOf(after, collective, bytes)};
      judgement.times.push_back(time);
      if (time.before <= 0) continue;
      const double counts = weights.of[collective];
      if (counts > 0) judgement.loss = std::max(judgement.loss, time.after > 0 ? time.ratio() : HUGE_VAL);
      if (time.after > 0) sum += counts * -std::log(time.ratio());
      weight += counts;
    }
  if (weight > 0) judgement.gain = std::exp(sum / weight);
  return judgement;
}

std::vector<JudgedRange> slowerRanges(const Judgement& judgement) {
  return rangesWhere(judgement, [](double ratio) { return ratio > 1 + kSameTime; });
}

std::vector<JudgedRange> fasterRanges(const Judgement& judgement) {
  return rangesWhere(judgement, [](double ratio) { return ratio > 0 && ratio < 1 - kSameTime; });
}

}  // namespace xylem::optimum
