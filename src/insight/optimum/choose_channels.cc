#include "insight/optimum/choose_channels.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "planner/plan/agreement.h"
#include "planner/search/graph_file.h"

namespace xylem::optimum {
namespace {

// NCCL's default distance for GPU Direct RDMA.
constexpr paths::PathType kFarthestGdr = paths::PathType::kPxb;

// The factor by which a set with more channels has to beat one with fewer.
constexpr double kWorthMoreChannels = 1.01;

bool leavesGdr(const search::ChannelGraph& found, const search::ChannelGraph& chosen) {
  const auto within = [](paths::PathType type) {
    return type <= kFarthestGdr || type == paths::PathType::kPxn;
  };
  return within(found.typeInter) && !within(chosen.typeInter);
}

// The candidates of a view of the job, without those that leave the reach of GPU Direct RDMA.
Candidates candidatesOf(const plan::HostPlan& host, const OptimumOptions& options) {
  Candidates candidates = findCandidates(host.system(), host.paths.paths, host.graphs, options);
  if (host.system().usesNets())
    std::erase_if(candidates.better, [&](const Optimum& candidate) {
      return leavesGdr(host.ring(), candidate.graphs[search::GraphKind::kRing]) ||
             leavesGdr(host.tree(), candidate.graphs[search::GraphKind::kTree]);
    });
  return candidates;
}

// Channels that stand in where nothing was found may have no way to a NIC, which graph files cannot say.
bool isWritable(const search::HostGraphs& graphs) {
  return std::all_of(search::kAllGraphKinds.begin(), search::kAllGraphKinds.end(),
                     [&](search::GraphKind kind) {
                       return graphs[kind].nChannels == 0 || graphs[kind].typeInter < paths::PathType::kDis;
                     });
}

// The candidates of a set, by view: -1 for the search's channels.
using Choice = std::vector<int>;

// Parts of a host that are alike have like candidates, which belong together: number i of each. Kinds of hosts
// have nothing in common, so that each is also improved alone.
std::vector<Choice> choicesOf(const std::vector<Candidates>& candidates) {
  std::vector<Choice> choices;
  std::size_t most = 0;
  for (const Candidates& own : candidates) most = std::max(most, own.better.size());
  for (std::size_t i = 0; i < most; ++i) {
    Choice all;
    for (const Candidates& own : candidates)
      all.push_back(static_cast<int>(std::min(i + 1, own.better.size())) - 1);
    choices.push_back(all);
  }
  if (candidates.size() == 1) return choices;
  for (std::size_t view = 0; view < candidates.size(); ++view)
    for (std::size_t i = 0; i < candidates[view].better.size(); ++i) {
      Choice alone(candidates.size(), -1);
      alone[view] = static_cast<int>(i);
      choices.push_back(std::move(alone));
    }
  return choices;
}

std::vector<ChosenChannels::Part> setOf(const std::vector<Candidates>& candidates, const Choice& choice,
                                        const plan::Plan& searched) {
  std::vector<ChosenChannels::Part> parts;
  for (std::size_t view = 0; view < candidates.size(); ++view) {
    const Candidates& own = candidates[view];
    const Optimum& optimum =
        choice[view] < 0 ? own.searched : own.better[static_cast<std::size_t>(choice[view])];
    parts.push_back({optimum, isWritable(optimum.graphs)
                                  ? search::writeGraphFile(optimum.graphs, searched.hostPlans[view]->system())
                                  : ""});
  }
  return parts;
}

// Whether ranks of different kinds of hosts would wait for each other for ever that do not with the search's
// channels.
bool makesHang(const plan::Plan& searched, const plan::Plan& candidate) {
  if (candidate.hostPlans.size() == 1) return false;
  const std::vector<plan::Decided> before = plan::agreementOf(searched).differ;
  const std::vector<plan::Decided> after = plan::agreementOf(candidate).differ;
  return std::any_of(after.begin(), after.end(), [&](plan::Decided what) {
    return plan::hangs(what) && std::find(before.begin(), before.end(), what) == before.end();
  });
}

}  // namespace

ChosenChannels chooseChannels(const plan::PlanRequest& request, const Settings& settings,
                              const plan::Plan& searched, const OptimumOptions& options,
                              const Weights& weights) {
  std::vector<Candidates> candidates;
  ChosenChannels chosen;
  for (const auto& host : searched.hostPlans) {
    candidates.push_back(candidatesOf(*host, options));
    chosen.parts.push_back({candidates.back().searched, ""});
  }
  chosen.judgement = judge(searched, searched, weights);
  std::set<std::string> known;
  for (const Choice& choice : choicesOf(candidates)) {
    std::vector<ChosenChannels::Part> parts = setOf(candidates, choice, searched);
    std::string texts;
    for (const ChosenChannels::Part& part : parts) texts += part.file;
    const auto isMissing = [](const ChosenChannels::Part& part) { return part.file.empty(); };
    if (std::any_of(parts.begin(), parts.end(), isMissing)) continue;
    if (!known.insert(texts).second) continue;
    plan::PlanRequest again = request;
    again.decisions = false;
    for (const ChosenChannels::Part& part : parts)
      again.graphFileOfView.push_back(
          std::make_shared<const search::GraphFile>(search::parseGraphFile(part.file, "graph.xml")));
    const plan::Plan planned = plan::planJob(again, settings);
    Judgement judgement = judge(searched, planned, weights);
    const bool loses = judgement.loses() || makesHang(searched, planned);
    ++chosen.tried;
    if (loses) ++chosen.losing;
    if (loses || !judgement.gains()) continue;
    // More channels occupy more of a GPU, so they have to gain more.
    const int more = parts.front().optimum.graphs[search::GraphKind::kRing].nChannels -
                     chosen.parts.front().optimum.graphs[search::GraphKind::kRing].nChannels;
    const double needed =
        chosen.wins() && more > 0 ? chosen.judgement.gain * kWorthMoreChannels : chosen.judgement.gain;
    if (judgement.gain <= needed) continue;
    chosen.parts = std::move(parts);
    chosen.judgement = std::move(judgement);
  }
  return chosen;
}

}  // namespace xylem::optimum
