// What followed for the job: counts, rings, trees, and the NICs at the ends of rings.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "insight/diff/changes.h"
#include "insight/diff/sections.h"

namespace xylem {
namespace {

void compareRings(const PlanFacts& a, const PlanFacts& b, ChangeList& list) {
  int common = 0;
  for (const auto& [channel, ring] : a.rings) common += b.rings.contains(channel) ? 1 : 0;
  for (const auto& [channel, before] : a.rings) {
    const auto after = b.rings.find(channel);
    if (after == b.rings.end() || before == after->second) continue;
    list.add(
        {.kind = "ring", .before = ranksText(before), .after = ranksText(after->second), .outOf = common},
        {fmt::format("in channel {}", channel)});
  }
}

void compareTrees(const PlanFacts& a, const PlanFacts& b, ChangeList& list) {
  int common = 0;
  for (const auto& [rank, facts] : a.rankFacts) common += b.rankFacts.contains(rank) ? 1 : 0;
  for (const auto& [rank, before] : a.rankFacts) {
    const auto after = b.rankFacts.find(rank);
    if (after == b.rankFacts.end()) continue;
    const auto& [treesA, treesB] = std::tie(before.trees, after->second.trees);
    const std::size_t channels = std::min(treesA.size(), treesB.size());
    if (!std::equal(treesA.begin(), treesA.begin() + static_cast<std::ptrdiff_t>(channels), treesB.begin()))
      list.add({.kind = "rank", .after = "other neighbours in the trees", .outOf = common},
               {std::to_string(rank)});
  }
}

std::string endText(const RingEnd& end, int rank, int net, const NodeMatch& match) {
  if (end.net.empty()) return "no usable NIC";
  std::string text = net < 0 ? "NET " + localPart(end.net) : match.label(net);
  text += end.gdr ? ", GPU Direct RDMA" : ", through host memory";
  if (end.proxy != rank) text += fmt::format(", handed to rank {}", end.proxy);
  return text;
}

void compareEnds(const std::map<int, RankFacts>& a, const std::map<int, RankFacts>& b, const char* what,
                 std::map<int, RingEnd> RankFacts::*ends, const NodeMatch& match, ChangeList& list) {
  for (const auto& [rank, before] : a) {
    const auto other = b.find(rank);
    if (other == b.end()) continue;
    for (const auto& [channel, end] : before.*ends) {
      const auto after = (other->second.*ends).find(channel);
      // Where the ring leaves the node elsewhere, the rings say so.
      if (after == (other->second.*ends).end()) continue;
      const std::string textA = endText(end, rank, match.idInA(end.net), match);
      const std::string textB = endText(after->second, rank, match.idInB(after->second.net), match);
      if (textA != textB)
        list.add({.kind = "ring end", .what = what, .before = textA, .after = textB},
                 {fmt::format("rank {} in channel {}", rank, channel)});
    }
  }
}

}  // namespace

void compareConnections(const PlanFacts& a, const PlanFacts& b, const NodeMatch& match, PlanDiff& diff) {
  compareValues(a.counts, b.counts, "job", "", diff.connections);
  if (a.ranks != b.ranks) return;
  ChangeList list;
  compareRings(a, b, list);
  compareTrees(a, b, list);
  compareEnds(a.rankFacts, b.rankFacts, "sends through", &RankFacts::sends, match, list);
  compareEnds(a.rankFacts, b.rankFacts, "receives through", &RankFacts::receives, match, list);
  list.appendTo(diff.connections);
}

}  // namespace xylem
