#include "insight/preflight/remedy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/plan/job_tuning.h"
#include "insight/preflight/candidates.h"
#include "insight/preflight/mismatch.h"

namespace xylem {
namespace {

constexpr std::size_t kMostSettings = 3;  // in one remedy
constexpr double kPerSetting = 0.02;      // slowdown that one setting less to remember is worth
constexpr double kWorthwhile = 2;         // slowdown against the best remedy up to which others are named

// The job under other settings.
struct Variant {
  std::shared_ptr<const Plan> plan;  // owns what a job planned anew refers to
  std::shared_ptr<const Connections> connections;
  std::vector<TuningModel> tuning;

  bool agrees() const {
    return !disagreeOnSamples(*connections, tuning) && collectiveMismatches(tuning).empty();
  }
};

PredictedTimes timesOf(const std::vector<TuningModel>& tuning) {
  PredictedTimes times;
  for (Collective collective : kAllCollectives)
    for (std::uint64_t bytes : costSizes()) {
      float slowest = 0;
      for (const TuningModel& model : tuning) {
        const Choice choice = choose(model, {.collective = collective, .bytes = bytes});
        slowest = std::max(slowest, choice.best() == nullptr ? INFINITY : choice.best()->time);
      }
      times[collective].push_back(slowest);
    }
  return times;
}

double slowdownOf(const PredictedTimes& times, const PredictedTimes& before) {
  double worst = 0;
  for (Collective collective : kAllCollectives) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = 0; i < times[collective].size(); ++i) {
      if (!(times[collective][i] > 0) || !(before[collective][i] > 0)) continue;
      sum += std::log(static_cast<double>(times[collective][i]) / static_cast<double>(before[collective][i]));
      ++count;
    }
    worst = std::max(worst, count == 0 ? 0 : std::exp(sum / count));
  }
  return worst;
}

class Trials {
 public:
  Trials(const PlanRequest& request, const Settings& settings, const Plan& plan)
      : request_(request), settings_(settings), plan_(plan) {}

  int made() const { return made_; }

  Variant with(const std::vector<CandidateSetting>& changes) {
    ++made_;
    Settings settings = settings_;
    Touches touches = Touches::kTuning;
    std::string key;
    for (const CandidateSetting& change : changes) {
      settings.set(spec(change.setting), change.value, "remedy");
      touches = std::max(touches, change.touches);
      if (change.touches != Touches::kTuning)
        key += fmt::format("{}={} ", spec(change.setting).name, change.value);
    }
    Variant variant = connected(key, touches, settings);
    const TuningOptions options = TuningOptions::from(settings);
    for (std::size_t view = 0; view < variant.connections->views.size(); ++view)
      variant.tuning.push_back(
          computeTuning(tuningInput(*variant.connections, static_cast<int>(view)), options));
    return variant;
  }

 private:
  // Whatever settings of the tuning change, the connections stay; so they are kept.
  Variant connected(const std::string& key, Touches touches, const Settings& settings) {
    const auto [known, isNew] = known_.try_emplace(key);
    if (!isNew) return known->second;
    Variant& variant = known->second;
    if (touches == Touches::kTuning) {
      variant.connections = std::shared_ptr<const Connections>(&plan_.connections, [](const Connections*) {});
    } else if (touches == Touches::kConnections) {
      ConnectOptions options = ConnectOptions::from(settings);
      options.rules = plan_.connections.options.rules;
      variant.connections = std::make_shared<const Connections>(connect(plan_.job(), options));
    } else {
      variant.plan = std::make_shared<const Plan>(planJob(request_, settings));
      variant.connections = std::shared_ptr<const Connections>(variant.plan, &variant.plan->connections);
    }
    return variant;
  }

  const PlanRequest& request_;
  const Settings& settings_;
  const Plan& plan_;
  std::map<std::string, Variant> known_;
  int made_ = 0;
};

using SettingSet = std::vector<CandidateSetting>;

Remedy remedyOf(const SettingSet& set, const Variant& variant, const PredictedTimes& before) {
  Remedy remedy;
  for (const CandidateSetting& setting : set)
    remedy.settings.emplace_back(spec(setting.setting).name, setting.value);
  remedy.times = timesOf(variant.tuning);
  remedy.slowdown = slowdownOf(remedy.times, before);
  return remedy;
}

bool isPartOf(const SettingSet& part, const SettingSet& set) {
  return std::all_of(part.begin(), part.end(), [&](const CandidateSetting& one) {
    return std::any_of(set.begin(), set.end(), [&](const CandidateSetting& other) {
      return other.setting == one.setting && other.value == one.value;
    });
  });
}

bool containsAny(const SettingSet& set, const std::vector<SettingSet>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const SettingSet& part) { return isPartOf(part, set); });
}

// Nowhere faster, and not simpler.
bool isNoBetter(const Remedy& remedy, const Remedy& other) {
  if (remedy.settings.size() < other.settings.size()) return false;
  for (Collective collective : kAllCollectives)
    for (std::size_t i = 0; i < remedy.times[collective].size(); ++i)
      if (remedy.times[collective][i] < other.times[collective][i]) return false;
  return true;
}

void addIfBetter(std::vector<Remedy>& found, Remedy remedy) {
  if (std::any_of(found.begin(), found.end(), [&](const Remedy& other) { return isNoBetter(remedy, other); }))
    return;
  std::erase_if(found, [&](const Remedy& other) { return isNoBetter(other, remedy); });
  found.push_back(std::move(remedy));
}

double burden(const Remedy& remedy) {
  return remedy.slowdown * (1 + kPerSetting * static_cast<double>(remedy.settings.size()));
}

// The sets one larger: each variable once, in the candidates' order.
std::vector<SettingSet> larger(const std::vector<SettingSet>& sets, const SettingSet& candidates) {
  std::vector<SettingSet> result;
  for (const SettingSet& set : sets)
    for (const CandidateSetting& candidate : candidates) {
      if (!set.empty() && candidate.setting <= set.back().setting) continue;
      result.push_back(set);
      result.back().push_back(candidate);
    }
  return result;
}

}  // namespace

std::vector<std::uint64_t> costSizes() {
  return {std::uint64_t{1} << 10,  std::uint64_t{64} << 10,  std::uint64_t{1} << 20,
          std::uint64_t{16} << 20, std::uint64_t{256} << 20, std::uint64_t{4} << 30};
}

std::string Remedy::text() const {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings)
    words.push_back(value.find(';') == std::string::npos ? name + "=" + value : name + "='" + value + "'");
  return fmt::format("{}", fmt::join(words, " "));
}

RemedySearch findRemedies(const PlanRequest& request, const Settings& settings, const Plan& plan) {
  RemedySearch search;
  search.now = timesOf(plan.tuning);
  Trials trials(request, settings, plan);
  const SettingSet candidates = candidateSettings(plan);
  std::vector<SettingSet> enough;
  std::vector<SettingSet> sets = {{}};
  // Two settings can cost less than one; three are for when nothing else helps.
  for (std::size_t size = 1; size <= kMostSettings && (size <= 2 || search.found.empty()); ++size) {
    sets = larger(sets, candidates);
    for (const SettingSet& set : sets) {
      if (containsAny(set, enough)) continue;
      const Variant variant = trials.with(set);
      if (!variant.agrees()) continue;
      enough.push_back(set);
      addIfBetter(search.found, remedyOf(set, variant, search.now));
    }
  }
  search.tried = trials.made();
  std::stable_sort(search.found.begin(), search.found.end(),
                   [](const Remedy& a, const Remedy& b) { return burden(a) < burden(b); });
  std::erase_if(search.found, [&](const Remedy& remedy) {
    return burden(remedy) > kWorthwhile * burden(search.found.front());
  });
  if (search.found.size() > kMostRemedies) search.found.resize(kMostRemedies);
  return search;
}

}  // namespace xylem
