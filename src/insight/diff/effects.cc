// Compares what follows from the machines for a job: the graphs of a host with their channels, the
// connections of all ranks, and the algorithm and protocol of each size of an operation with its predicted
// time.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "insight/diff/sections.h"

namespace xylem::diff {
namespace {

// Graphs of a host.

const GraphFacts* find(const std::vector<GraphFacts>& graphs, const std::string& name) {
  const auto found =
      std::find_if(graphs.begin(), graphs.end(), [&](const GraphFacts& graph) { return graph.name == name; });
  return found == graphs.end() ? nullptr : &*found;
}

std::string summary(const GraphFacts* graph) {
  if (graph == nullptr || graph->channels == 0) return "";
  for (const auto& [name, value] : graph->values)
    if (name == "GB/s per channel") return fmt::format("{} channels of {} GB/s", graph->channels, value);
  return fmt::format("{} channels", graph->channels);
}

// A channel for people, with the NETs' labels, which are the same for both sides.
std::string channelText(const GraphChannel& channel, const NodeMatch& match, bool ofA) {
  const auto net = [&](const std::string& name) {
    const int id = ofA ? match.idInA(name) : match.idInB(name);
    return id < 0 ? "NET " + localPart(name) : match.label(id);
  };
  const std::string ranks = ranksText(channel.ranks);
  if (channel.nets.size() != 2) return ranks;
  return fmt::format("{} | {} | {}", net(channel.nets[0]), ranks, net(channel.nets[1]));
}

bool sameChannel(const GraphChannel& a, const GraphChannel& b, const NodeMatch& match) {
  if (a.ranks != b.ranks || a.nets.size() != b.nets.size()) return false;
  for (std::size_t i = 0; i < a.nets.size(); ++i) {
    const int before = match.idInA(a.nets[i]);
    const int after = match.idInB(b.nets[i]);
    // Plans may leave their nodes out. Then NETs are compared by name.
    if (before < 0 || after < 0 ? a.nets[i] != b.nets[i] : before != after) return false;
  }
  return true;
}

void compareOrder(const GraphFacts& a, const GraphFacts& b, const NodeMatch& match, ChangeList& list) {
  const std::size_t common = std::min(a.order.size(), b.order.size());
  for (std::size_t channel = 0; channel < common; ++channel)
    if (!sameChannel(a.order[channel], b.order[channel], match))
      list.add({.kind = a.name + " channel",
                .before = channelText(a.order[channel], match, true),
                .after = channelText(b.order[channel], match, false),
                .outOf = static_cast<int>(common)},
               {std::to_string(channel)});
}

// Connections: rings, trees, and the NICs at the ends of rings.

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

// A rank counts as changed if its links differ in one of the channels that both plans have.
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
      // If the ring leaves the node at another rank, the comparison of rings tells it.
      if (after == (other->second.*ends).end()) continue;
      const std::string textA = endText(end, rank, match.idInA(end.net), match);
      const std::string textB = endText(after->second, rank, match.idInB(after->second.net), match);
      if (textA != textB)
        list.add({.kind = "ring end", .what = what, .before = textA, .after = textB},
                 {fmt::format("rank {} in channel {}", rank, channel)});
    }
  }
}

// Choices.

const std::vector<ChoiceFacts>* find(const PlanFacts& facts, const std::string& collective) {
  for (const auto& [name, choices] : facts.choices)
    if (name == collective) return &choices;
  return nullptr;
}

double ratioOf(const ChoiceFacts& a, const ChoiceFacts& b) {
  return a.time > 0 && b.time > 0 ? b.time / a.time : 0;
}

// 1: slower, -1: faster, 0: as fast. Sizes that keep their candidate are put together only if their signs
// agree.
int sign(double ratio) { return ratio == 0 || sameNumber(ratio, 1) ? 0 : ratio > 1 ? 1 : -1; }

// Walks through the sizes in ascending order, and extends the last change as long as the next size changes
// alike.
void compareSizes(const std::string& collective, const std::vector<ChoiceFacts>& a,
                  const std::vector<ChoiceFacts>& b, std::vector<ChoiceChange>& changes) {
  bool going = false;
  for (const ChoiceFacts& before : a) {
    const auto after = std::find_if(b.begin(), b.end(),
                                    [&](const ChoiceFacts& other) { return other.bytes == before.bytes; });
    if (after == b.end()) continue;
    const double ratio = ratioOf(before, *after);
    const bool sameCandidate = before.candidate == after->candidate;
    if (sameCandidate && sign(ratio) == 0) {
      going = false;
      continue;
    }
    if (going) {
      ChoiceChange& last = changes.back();
      const bool alike = last.before == before.candidate && last.after == after->candidate &&
                         (!sameCandidate || sign(last.maxRatio) == sign(ratio));
      if (alike) {
        last.toBytes = before.bytes;
        last.minRatio = std::min(last.minRatio, ratio);
        last.maxRatio = std::max(last.maxRatio, ratio);
        continue;
      }
    }
    changes.push_back(
        {collective, before.bytes, before.bytes, before.candidate, after->candidate, ratio, ratio});
    going = true;
  }
}

}  // namespace

void compareGraphs(const std::vector<GraphFacts>& a, const std::vector<GraphFacts>& b, const NodeMatch& match,
                   const std::string& where, PlanDiff& diff) {
  std::vector<std::string> names;
  for (const auto* graphs : {&a, &b})
    for (const GraphFacts& graph : *graphs)
      if (std::find(names.begin(), names.end(), graph.name) == names.end()) names.push_back(graph.name);
  for (const std::string& name : names) {
    const GraphFacts* before = find(a, name);
    const GraphFacts* after = find(b, name);
    const bool had = before != nullptr && before->channels > 0;
    const bool has = after != nullptr && after->channels > 0;
    if (!had && !has) continue;
    if (!had || !has) {
      diff.channels.push_back(
          {.where = where, .kind = name, .before = summary(before), .after = summary(after)});
      continue;
    }
    compareValues(before->values, after->values, name, where, diff.channels);
    ChangeList list(where);
    compareOrder(*before, *after, match, list);
    list.appendTo(diff.channels);
  }
}

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

void compareChoices(const PlanFacts& a, const PlanFacts& b, PlanDiff& diff) {
  for (const auto& [collective, before] : a.choices)
    if (const auto* after = find(b, collective)) compareSizes(collective, before, *after, diff.choices);
}

}  // namespace xylem::diff
