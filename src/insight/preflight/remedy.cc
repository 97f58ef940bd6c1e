#include "insight/preflight/remedy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "insight/preflight/mismatch.h"
#include "planner/plan/plan.h"
#include "planner/tuning/tuning_input.h"

namespace xylem::preflight {
namespace {

// The first stage of the planner that a setting influences.
enum class Touches : std::uint8_t { kTuning, kConnections, kSearch };

struct CandidateSetting {
  Setting setting;
  std::string value;
  Touches touches = Touches::kTuning;
};
using SettingSet = std::vector<CandidateSetting>;

int leastOf(const plan::Plan& plan, int connect::ViewDecisions::*member) {
  const auto& views = plan.connections.views;
  return (*std::min_element(views.begin(), views.end(),
                            [&](const connect::ViewDecisions& a, const connect::ViewDecisions& b) {
                              return a.*member < b.*member;
                            })).*
         member;
}

bool differs(const plan::Plan& plan, int connect::ViewDecisions::*member) {
  const auto& views = plan.connections.views;
  return std::any_of(views.begin(), views.end(), [&](const connect::ViewDecisions& view) {
    return view.*member != views.front().*member;
  });
}

std::vector<Collective> collectivesOf(const std::vector<CollectiveMismatch>& mismatches) {
  std::vector<Collective> collectives;
  for (const CollectiveMismatch& mismatch : mismatches)
    if (collectives.empty() || collectives.back() != mismatch.collective)
      collectives.push_back(mismatch.collective);
  return collectives;
}

// "AllReduce:Simple;Reduce:Simple"
std::string listFor(const std::vector<Collective>& collectives, const std::string& names) {
  std::string text;
  for (Collective collective : collectives)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ";", name(collective), names);
  return text;
}

// Excludes one or two of the algorithms that ranks disagree about, or permits only rings, which all hosts
// have. If only AllReduce is concerned, also tries each of these algorithms alone.
void addAlgorithms(SettingSet& list, const std::vector<CollectiveMismatch>& mismatches) {
  std::set<Algorithm> involved;
  for (const CollectiveMismatch& mismatch : mismatches)
    for (const tuning::Pick& pick : mismatch.byView)
      if (pick.runs && pick.algorithm != Algorithm::kRing) involved.insert(pick.algorithm);
  for (auto first = involved.begin(); first != involved.end(); ++first) {
    const std::string without = std::string("^") + name(*first);
    list.push_back({Setting::kAlgo, without});
    for (auto second = std::next(first); second != involved.end(); ++second)
      list.push_back({Setting::kAlgo, without + "," + name(*second)});
  }
  list.push_back({Setting::kAlgo, "Ring"});
  const std::vector<Collective> collectives = collectivesOf(mismatches);
  if (collectives == std::vector<Collective>{Collective::kAllReduce})
    for (Algorithm algorithm : involved)
      list.push_back({Setting::kAlgo, listFor(collectives, name(algorithm))});
}

// Lists are positive without LL128: naming LL128, or excluding another protocol (`^LL`), enables LL128 even
// where it may corrupt data.
void addProtocols(SettingSet& list, const std::vector<CollectiveMismatch>& mismatches) {
  const std::vector<Collective> collectives = collectivesOf(mismatches);
  const bool all = collectives.size() == kAllCollectives.size();
  for (const char* names : {"LL,Simple", "Simple", "LL"})
    list.push_back({Setting::kProto, all ? names : listFor(collectives, names)});
}

// Makes numbers of channels equal that differ between views.
void addChannels(SettingSet& list, const plan::Plan& plan) {
  const connect::Connections& c = plan.connections;
  if (differs(plan, &connect::ViewDecisions::nvlsChannels))
    list.push_back({Setting::kNvlsNChannels,
                    std::to_string(leastOf(plan, &connect::ViewDecisions::nvlsChannels)),
                    Touches::kConnections});
  int most = 0;
  int least = paths::kMaxChannels;
  for (const connect::ViewDecisions& view : c.views) {
    most = std::max(most, view.channels.total());
    least = std::min(least, view.channels.total());
  }
  if (least != most) {
    list.push_back({Setting::kMaxNChannels, std::to_string(least), Touches::kConnections});
    list.push_back({Setting::kMinNChannels, std::to_string(most), Touches::kConnections});
  }
  if (differs(plan, &connect::ViewDecisions::p2pChannels))
    list.push_back({Setting::kMaxP2pNChannels,
                    std::to_string(leastOf(plan, &connect::ViewDecisions::p2pChannels)),
                    Touches::kConnections});
  if (differs(plan, &connect::ViewDecisions::p2pChannelsPerPeer))
    list.push_back({Setting::kNChannelsPerNetPeer,
                    std::to_string(leastOf(plan, &connect::ViewDecisions::p2pChannelsPerPeer)),
                    Touches::kConnections});
}

// Settings worth trying if the ranks of a job disagree: those that switch off what they disagree about, or
// give all ranks the smallest value of any rank (for channels also the greatest).
std::vector<CandidateSetting> candidateSettings(const plan::Plan& plan) {
  SettingSet list;
  const std::vector<CollectiveMismatch> mismatches = collectiveMismatches(plan.tuning);
  addChannels(list, plan);
  if (!mismatches.empty()) {
    addAlgorithms(list, mismatches);
    addProtocols(list, mismatches);
  }
  if (plan.connections.nvlsHeads > 0) list.push_back({Setting::kNvlsEnable, "0", Touches::kSearch});
  if (plan.connections.collnet) list.push_back({Setting::kCollnetEnable, "0", Touches::kSearch});
  return list;
}

constexpr std::size_t kMaxSettingsOfRemedy = 3;  // of one remedy
constexpr double kPerSetting = 0.02;             // a setting fewer is worth this much slowdown
constexpr double kWorthwhile = 2;                // other remedies may be this much slower than the best

// The job planned with other settings.
struct Variant {
  // If the whole job was planned again, this keeps alive what `connections` points to; otherwise null.
  std::shared_ptr<const plan::Plan> plan;
  std::shared_ptr<const connect::Connections> connections;
  std::vector<tuning::TuningModel> tuning;

  bool agrees() const {
    return !disagreeOnSamples(*connections, tuning) && collectiveMismatches(tuning).empty();
  }
};

PredictedTimes timesOf(const std::vector<tuning::TuningModel>& tuning) {
  PredictedTimes times;
  for (Collective collective : kAllCollectives)
    for (std::uint64_t bytes : costSizes()) {
      float slowest = 0;
      for (const tuning::TuningModel& model : tuning) {
        const tuning::Choice choice = tuning::choose(model, {.collective = collective, .bytes = bytes});
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
  Trials(const plan::PlanRequest& request, const Settings& settings, const plan::Plan& plan)
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
    const tuning::TuningOptions options = tuning::TuningOptions::from(settings);
    for (std::size_t view = 0; view < variant.connections->views.size(); ++view)
      variant.tuning.push_back(
          tuning::computeTuning(tuning::tuningInput(*variant.connections, static_cast<int>(view)), options));
    return variant;
  }

 private:
  // Plans the job again from the first stage that the settings touch. Settings of the tuning leave the
  // connections as they are, so connections are cached by the other settings (`key`).
  Variant connected(const std::string& key, Touches touches, const Settings& settings) {
    const auto [known, isNew] = known_.try_emplace(key);
    if (!isNew) return known->second;
    Variant& variant = known->second;
    if (touches == Touches::kTuning) {
      variant.connections =
          std::shared_ptr<const connect::Connections>(&plan_.connections, [](const connect::Connections*) {});
    } else if (touches == Touches::kConnections) {
      connect::ConnectOptions options = connect::ConnectOptions::from(settings);
      options.rules = plan_.connections.options.rules;
      variant.connections =
          std::make_shared<const connect::Connections>(connect::connect(plan_.job(), options));
    } else {
      variant.plan = std::make_shared<const plan::Plan>(plan::planJob(request_, settings));
      variant.connections =
          std::shared_ptr<const connect::Connections>(variant.plan, &variant.plan->connections);
    }
    return variant;
  }

  const plan::PlanRequest& request_;
  const Settings& settings_;
  const plan::Plan& plan_;
  std::map<std::string, Variant> known_;
  int made_ = 0;
};

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

// True if `remedy` is faster nowhere and needs at least as many settings.
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

// Returns all sets with one more setting. Each variable occurs once, in ascending order, so no set comes
// twice.
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

RemedySearch findRemedies(const plan::PlanRequest& request, const Settings& settings,
                          const plan::Plan& plan) {
  RemedySearch search;
  search.now = timesOf(plan.tuning);
  Trials trials(request, settings, plan);
  const SettingSet candidates = candidateSettings(plan);
  std::vector<SettingSet> enough;
  std::vector<SettingSet> sets = {{}};
  // Try sets in order of size and skip supersets of sets that suffice. Two settings may cost less time than
  // one, so pairs are always tried; triples only if nothing smaller helps.
  for (std::size_t size = 1; size <= kMaxSettingsOfRemedy && (size <= 2 || search.found.empty()); ++size) {
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
  if (search.found.size() > kMaxRemedies) search.found.resize(kMaxRemedies);
  return search;
}

}  // namespace xylem::preflight
