// What followed for the graphs of a host: their bandwidths and types, and the channels themselves.
#include <fmt/format.h>

#include <algorithm>

#include "insight/diff/changes.h"
#include "insight/diff/sections.h"

namespace xylem {
namespace {

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

// A channel as people read it, NETs by what both sides call them.
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
    // Plans may leave nodes out; then the names are all there is.
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

}  // namespace xylem
