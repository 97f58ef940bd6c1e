// Compares the paths between GPUs, and from GPUs to NETs, and the decisions about them.
#include <fmt/format.h>

#include "insight/diff/sections.h"

namespace xylem::diff {
namespace {

using Ends = std::pair<int, int>;

const char* kindOf(const NodeMatch& match, const Ends& ends) {
  return match.is(ends.second, "NET") ? "GPU-NET pair" : "GPU pair";
}

// Returns whether the pair is compared: a GPU with another GPU or a NET, all of which both machines have.
bool compared(const NodeMatch& match, const Ends& ends) {
  return match.onBoth(ends.first) && match.onBoth(ends.second) && ends.first != ends.second &&
         match.is(ends.first, "GPU") && (match.is(ends.second, "GPU") || match.is(ends.second, "NET"));
}

// The paths, or the decisions of one rule, of one side, by the ids of their ends in `match`.
template <typename Facts>
std::map<Ends, const Facts*> byEnds(const std::vector<Facts>& all, const NodeMatch& match, bool ofA,
                                    const std::string& rule = "") {
  std::map<Ends, const Facts*> found;
  for (const Facts& one : all) {
    if constexpr (requires { one.rule; })
      if (one.rule != rule) continue;
    const Ends ends = ofA ? Ends{match.idInA(one.from), match.idInA(one.to)}
                          : Ends{match.idInB(one.from), match.idInB(one.to)};
    if (compared(match, ends)) found[ends] = &one;
  }
  return found;
}

// Adds the changes of all ordered pairs. A pair that changed alike in both directions is reported once, with
// " - " between its names rather than " to ". `changeOf` compares a pair; `detail` returns a text that is
// added to the name of the pair.
template <typename ChangeOf, typename Detail>
void addPairs(const NodeMatch& match, const ChangeOf& changeOf, const Detail& detail, ChangeList& list) {
  std::map<std::string, int> pairs;
  const auto forEachPair = [&](const auto& use) {
    for (int a = 0; a < match.count(); ++a)
      for (int b = 0; b < match.count(); ++b)
        if (compared(match, {a, b})) use(Ends{a, b});
  };
  forEachPair([&](const Ends& ends) {
    if (match.is(ends.second, "NET") || ends.first < ends.second) ++pairs[kindOf(match, ends)];
  });
  forEachPair([&](const Ends& ends) {
    std::optional<Change> change = changeOf(ends);
    if (!change) return;
    const Ends back{ends.second, ends.first};
    const bool net = match.is(ends.second, "NET");
    const std::optional<Change> reverse = net ? std::nullopt : changeOf(back);
    const bool mutual = reverse && reverse->before == change->before && reverse->after == change->after &&
                        reverse->whyBefore == change->whyBefore && reverse->whyAfter == change->whyAfter;
    if (mutual && ends.second < ends.first) return;
    change->kind = kindOf(match, ends);
    change->outOf = pairs[change->kind];
    if (!net && !mutual) {
      change->kind += ", one way";
      change->outOf *= 2;
    }
    const char* between = mutual ? "-" : "to";
    list.add(std::move(*change), {fmt::format("{} {} {}{}", match.label(ends.first), between,
                                              match.label(ends.second), detail(ends))});
  });
}

std::string pathText(const PathFacts* path) {
  return path == nullptr ? "only over the network" : fmt::format("{} {:.1f}", path->type, path->bandwidth);
}

void comparePaths(const HostFacts& a, const HostFacts& b, const NodeMatch& match, ChangeList& list) {
  const auto inA = byEnds(a.paths, match, true);
  const auto inB = byEnds(b.paths, match, false);
  const auto at = [](const auto& paths, const Ends& ends) {
    const auto found = paths.find(ends);
    return found == paths.end() ? nullptr : found->second;
  };
  const auto changeOf = [&](const Ends& ends) -> std::optional<Change> {
    const PathFacts* before = at(inA, ends);
    const PathFacts* after = at(inB, ends);
    if (before == nullptr && after == nullptr) return std::nullopt;
    if (before != nullptr && after != nullptr && before->type == after->type &&
        sameNumber(before->bandwidth, after->bandwidth))
      return std::nullopt;
    return Change{.before = pathText(before), .after = pathText(after)};
  };
  addPairs(
      match, changeOf, [](const Ends&) { return std::string(); }, list);
}

// Compares the GPUs in between on both sides. The text does not name them, so that pairs with different
// relays form one change: the name of each pair does (`relays` below).
std::optional<Change> relayChange(const char* rule, int before, int after) {
  if (before == after) return std::nullopt;
  const bool proxy = std::string(rule) == kRuleProxy;
  Change change{.what = proxy ? rule : fmt::format("{} through", rule)};
  change.before = before < 0 ? (proxy ? "itself" : "no other GPU")
                  : proxy    ? "another one (PXN)"
                             : "another GPU";
  change.after = after < 0    ? (proxy ? "itself" : "no other GPU")
                 : before < 0 ? (proxy ? "another one (PXN)" : "another GPU")
                              : "yet another";
  return change;
}

void compareRule(const char* rule, const HostFacts& a, const HostFacts& b, const NodeMatch& match,
                 ChangeList& list) {
  const auto inA = byEnds(a.decisions, match, true, rule);
  const auto inB = byEnds(b.decisions, match, false, rule);
  const auto changeOf = [&](const Ends& ends) -> std::optional<Change> {
    const auto before = inA.find(ends);
    const auto after = inB.find(ends);
    if (before == inA.end() || after == inB.end()) return std::nullopt;
    std::optional<Change> change;
    if (before->second->yes != after->second->yes)
      change = Change{.what = rule,
                      .before = before->second->yes ? "yes" : "no",
                      .after = after->second->yes ? "yes" : "no"};
    else
      change = relayChange(rule, match.idInA(before->second->relay), match.idInB(after->second->relay));
    if (change) change->whyBefore = before->second->why;
    if (change) change->whyAfter = after->second->why;
    return change;
  };
  const auto relays = [&](const Ends& ends) {
    const int before = match.idInA(inA.at(ends)->relay);
    const int after = match.idInB(inB.at(ends)->relay);
    if (before == after) return std::string();
    if (before < 0 || after < 0) return fmt::format(" ({})", match.label(std::max(before, after)));
    return fmt::format(" ({}, then {})", match.label(before), match.label(after));
  };
  addPairs(match, changeOf, relays, list);
}

}  // namespace

void compareReach(const HostFacts& a, const HostFacts& b, const NodeMatch& match, const std::string& where,
                  PlanDiff& diff) {
  if (a.paths.empty() || b.paths.empty()) return;
  ChangeList list(where);
  comparePaths(a, b, match, list);
  list.appendTo(diff.paths);
  for (const char* rule : {kRuleP2p, kRuleShm, kRuleNetIsBetter, kRuleGdrReceive, kRuleGdrSend, kRuleProxy})
    compareRule(rule, a, b, match, list);
  list.appendTo(diff.decisions);
}

}  // namespace xylem::diff
