#include "insight/preflight/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "insight/preflight/mismatch.h"

namespace xylem {
namespace {

using List = std::vector<CandidateSetting>;

int leastOf(const Plan& plan, int ViewDecisions::*member) {
  const auto& views = plan.connections.views;
  return (*std::min_element(
             views.begin(), views.end(),
             [&](const ViewDecisions& a, const ViewDecisions& b) { return a.*member < b.*member; })).*
         member;
}

bool differs(const Plan& plan, int ViewDecisions::*member) {
  const auto& views = plan.connections.views;
  return std::any_of(views.begin(), views.end(),
                     [&](const ViewDecisions& view) { return view.*member != views.front().*member; });
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

// Without one or two of the algorithms that ranks take where they disagree, with one of them alone, or with
// rings alone, which all hosts have.
void addAlgorithms(List& list, const std::vector<CollectiveMismatch>& mismatches) {
  std::set<Algorithm> involved;
  for (const CollectiveMismatch& mismatch : mismatches)
    for (const Pick& pick : mismatch.byView)
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

// Not `^LL`: naming LL128, or all but another, switches it on even where it may corrupt data.
void addProtocols(List& list, const std::vector<CollectiveMismatch>& mismatches) {
  const std::vector<Collective> collectives = collectivesOf(mismatches);
  const bool all = collectives.size() == kAllCollectives.size();
  for (const char* names : {"LL,Simple", "Simple", "LL"})
    list.push_back({Setting::kProto, all ? names : listFor(collectives, names)});
}

void addChannels(List& list, const Plan& plan) {
  const Connections& c = plan.connections;
  if (differs(plan, &ViewDecisions::nvlsChannels))
    list.push_back({Setting::kNvlsNChannels, std::to_string(leastOf(plan, &ViewDecisions::nvlsChannels)),
                    Touches::kConnections});
  int most = 0;
  int least = kMaxChannels;
  for (const ViewDecisions& view : c.views) {
    most = std::max(most, view.channels.total());
    least = std::min(least, view.channels.total());
  }
  if (least != most) {
    list.push_back({Setting::kMaxNChannels, std::to_string(least), Touches::kConnections});
    list.push_back({Setting::kMinNChannels, std::to_string(most), Touches::kConnections});
  }
  if (differs(plan, &ViewDecisions::p2pChannels))
    list.push_back({Setting::kMaxP2pNChannels, std::to_string(leastOf(plan, &ViewDecisions::p2pChannels)),
                    Touches::kConnections});
  if (differs(plan, &ViewDecisions::p2pChannelsPerPeer))
    list.push_back({Setting::kNChannelsPerNetPeer,
                    std::to_string(leastOf(plan, &ViewDecisions::p2pChannelsPerPeer)),
                    Touches::kConnections});
}

}  // namespace

std::vector<CandidateSetting> candidateSettings(const Plan& plan) {
  List list;
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

}  // namespace xylem
