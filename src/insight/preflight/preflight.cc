#include "insight/preflight/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "planner/plan/agreement.h"

namespace xylem::preflight {
namespace {

constexpr std::array kAllUnexchanged = {Unexchanged::kTreePattern,      Unexchanged::kNetLatency,
                                        Unexchanged::kNvSwitch,         Unexchanged::kChannels,
                                        Unexchanged::kNvlsChannels,     Unexchanged::kCollnetHeads,
                                        Unexchanged::kTransferChannels, Unexchanged::kChannelsPerPeer};

// "5.0 us", or the latency of each graph if they differ. Graphs without channels do not count.
std::string latencies(const tuning::TuningInput& input) {
  std::string text;
  bool same = true;
  const float first = input.graph(search::GraphKind::kRing).latencyInter;
  for (search::GraphKind kind : search::kAllGraphKinds) {
    if (input.graph(kind).nChannels == 0) continue;
    const float latency = input.graph(kind).latencyInter;
    same = same && latency == first;
    text += fmt::format("{}{} {:.1f}", text.empty() ? "" : ", ", search::name(kind), latency);
  }
  return same ? fmt::format("{:.1f} us", first) : text + " us";
}

std::string valueOf(const connect::Connections& c, const std::vector<tuning::TuningModel>& tuning,
                    std::size_t view, Unexchanged what) {
  const tuning::TuningInput& input = tuning[view].input;
  const connect::ViewDecisions& decisions = c.views[view];
  switch (what) {
    case Unexchanged::kTreePattern:
      return search::name(input.graph(search::GraphKind::kTree).pattern);
    case Unexchanged::kNetLatency:
      return latencies(input);
    case Unexchanged::kNvSwitch:
      return input.hasNvs ? "yes" : "no";
    case Unexchanged::kChannels:
      return std::to_string(decisions.channels.total());
    case Unexchanged::kNvlsChannels:
      return std::to_string(decisions.nvlsChannels);
    case Unexchanged::kCollnetHeads:
      return std::to_string(decisions.collnetHeads);
    case Unexchanged::kTransferChannels:
      return std::to_string(decisions.p2pChannels);
    case Unexchanged::kChannelsPerPeer:
      return std::to_string(decisions.p2pChannelsPerPeer);
  }
  return "";
}

// Gives `input` the value that `source` has.
void equalise(tuning::TuningInput& input, const tuning::TuningInput& source, Unexchanged what) {
  switch (what) {
    case Unexchanged::kTreePattern:
      input.graphs[search::GraphKind::kTree].pattern = source.graph(search::GraphKind::kTree).pattern;
      break;
    case Unexchanged::kNetLatency:
      for (search::GraphKind kind : search::kAllGraphKinds)
        input.graphs[kind].latencyInter = source.graph(kind).latencyInter;
      break;
    case Unexchanged::kNvSwitch:
      input.hasNvs = source.hasNvs;
      break;
    case Unexchanged::kChannels:
      input.nChannels = source.nChannels;
      break;
    case Unexchanged::kNvlsChannels:
      input.nvlsChannels = source.nvlsChannels;
      break;
    case Unexchanged::kCollnetHeads:
      input.collnetHeads = source.collnetHeads;
      input.collnetDirectHeads = source.collnetDirectHeads;
      break;
    case Unexchanged::kTransferChannels:
    case Unexchanged::kChannelsPerPeer:
      break;
  }
}

std::vector<CollectiveMismatch> of(const std::vector<CollectiveMismatch>& all, Collective collective) {
  std::vector<CollectiveMismatch> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const CollectiveMismatch& m) { return m.collective == collective; });
  return some;
}

// Computes the tuning again with each differing value made equal in turn. A value is to blame for a
// collective if that changes the sizes on which ranks disagree.
void blameForCollectives(std::vector<Cause>& causes, const std::vector<tuning::TuningModel>& tuning) {
  const std::vector<CollectiveMismatch> now = collectiveMismatches(tuning);
  if (now.empty()) return;
  for (Cause& cause : causes) {
    std::vector<tuning::TuningModel> models;
    for (const tuning::TuningModel& model : tuning) {
      tuning::TuningInput input = model.input;
      equalise(input, tuning.front().input, cause.what);
      models.push_back(tuning::computeTuning(input, model.options));
    }
    const std::vector<CollectiveMismatch> then = collectiveMismatches(models);
    for (Collective collective : kAllCollectives)
      if (of(now, collective) != of(then, collective)) cause.collectives.push_back(collective);
  }
  // If no single value explains a mismatch, blame all of them together.
  for (Collective collective : kAllCollectives) {
    if (of(now, collective).empty()) continue;
    const bool explained = std::any_of(causes.begin(), causes.end(), [&](const Cause& cause) {
      return std::find(cause.collectives.begin(), cause.collectives.end(), collective) !=
             cause.collectives.end();
    });
    if (explained) continue;
    for (Cause& cause : causes) cause.collectives.push_back(collective);
  }
}

void blameForTheRest(std::vector<Cause>& causes, const connect::Connections& c,
                     const std::vector<tuning::TuningModel>& tuning) {
  const bool transfers = !transferMismatches(c, tuning).empty();
  for (Cause& cause : causes) {
    cause.setup = cause.what == Unexchanged::kChannels || cause.what == Unexchanged::kNvlsChannels ||
                  cause.what == Unexchanged::kCollnetHeads;
    cause.transfers = transfers && (cause.what == Unexchanged::kTransferChannels ||
                                    cause.what == Unexchanged::kChannelsPerPeer);
  }
}

}  // namespace

const char* name(Unexchanged what) {
  switch (what) {
    case Unexchanged::kTreePattern:
      return "treePattern";
    case Unexchanged::kNetLatency:
      return "netLatency";
    case Unexchanged::kNvSwitch:
      return "nvSwitch";
    case Unexchanged::kChannels:
      return "channels";
    case Unexchanged::kNvlsChannels:
      return "nvlsChannels";
    case Unexchanged::kCollnetHeads:
      return "collnetHeads";
    case Unexchanged::kTransferChannels:
      return "p2pChannels";
    case Unexchanged::kChannelsPerPeer:
      return "p2pChannelsPerPeer";
  }
  return "";
}

std::vector<Cause> causesOf(const connect::Connections& c, const std::vector<tuning::TuningModel>& tuning) {
  std::vector<Cause> causes;
  for (Unexchanged what : kAllUnexchanged) {
    Cause cause{what, {}, {}};
    for (std::size_t view = 0; view < tuning.size(); ++view)
      cause.byView.push_back(valueOf(c, tuning, view, what));
    const bool differs = std::any_of(cause.byView.begin(), cause.byView.end(),
                                     [&](const std::string& value) { return value != cause.byView.front(); });
    if (differs) causes.push_back(std::move(cause));
  }
  blameForCollectives(causes, tuning);
  blameForTheRest(causes, c, tuning);
  return causes;
}

bool Preflight::lacksNics() const {
  return std::any_of(endsWithoutNic.begin(), endsWithoutNic.end(), [](int ends) { return ends > 0; });
}

Preflight preflight(const plan::Plan& plan) {
  Preflight result;
  result.setup = setupMismatches(plan.connections);
  result.collectives = collectiveMismatches(plan.tuning);
  result.transfers = transferMismatches(plan.connections, plan.tuning);
  result.causes = causesOf(plan.connections, plan.tuning);
  result.endsWithoutNic = plan::ringEndsWithoutNic(plan);
  result.networks = networksOf(plan);
  result.networksApart = networksApart(plan);
  result.remarks = remarksOn(plan);
  return result;
}

}  // namespace xylem::preflight
