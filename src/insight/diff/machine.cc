// Compares two machines: the elements of their files, or their nodes if a side has no file; links; ranks of
// GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "insight/diff/document.h"
#include "insight/diff/sections.h"

namespace xylem::diff {
namespace {

// `allGpus`: both sides name all GPUs, so that a GPU that one of them does not name is absent there.
void compareNodes(const NodeMatch& match, bool allGpus, ChangeList& list) {
  for (int id = 0; id < match.count(); ++id) {
    const NodeFacts* a = match.inA(id);
    const NodeFacts* b = match.inB(id);
    if (a == nullptr || b == nullptr) {
      if (match.is(id, "GPU") && !allGpus) continue;
      list.add({.kind = (a != nullptr ? a : b)->type,
                .before = a != nullptr ? "there" : "",
                .after = b != nullptr ? "there" : ""},
               {match.label(id)});
      continue;
    }
    for (const auto& [key, before] : a->attributes)
      for (const auto& [other, after] : b->attributes)
        if (key == other && before != after)
          list.add({.kind = a->type, .what = key, .before = before, .after = after}, {match.label(id)});
  }
}

// Compares the order of the nodes that both machines have, type by type.
void compareNodeOrder(const HostFacts& a, const HostFacts& b, const NodeMatch& match, ChangeList& list) {
  for (const char* type : {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"}) {
    std::vector<std::string> inA;
    std::vector<std::string> inB;
    for (const NodeFacts& node : a.nodes)
      if (const int id = match.idInA(node.name); node.type == type && match.onBoth(id))
        inA.push_back(match.label(id));
    for (const NodeFacts& node : b.nodes)
      if (const int id = match.idInB(node.name); node.type == type && match.onBoth(id))
        inB.push_back(match.label(id));
    if (inA != inB)
      list.add({.kind = type, .what = "order", .before = shortList(inA, 8), .after = shortList(inB, 8)},
               {""});
  }
}

struct LinkKey {
  int from, to;
  std::string type;
  auto operator<=>(const LinkKey&) const = default;
};

std::map<LinkKey, double> linksOf(const std::vector<LinkFacts>& links, const NodeMatch& match, bool ofA) {
  std::map<LinkKey, double> found;
  for (const LinkFacts& link : links) {
    const int from = ofA ? match.idInA(link.from) : match.idInB(link.from);
    const int to = ofA ? match.idInA(link.to) : match.idInB(link.to);
    if (match.onBoth(from) && match.onBoth(to)) found[{from, to, link.type}] = link.bandwidth;
  }
  return found;
}

std::string linkText(const std::map<LinkKey, double>& links, const LinkKey& key) {
  const auto found = links.find(key);
  return found == links.end() ? "" : fmt::format("{} {:.1f}", key.type, found->second);
}

// `files`: both files are known. Then the comparison of their elements tells which links came and went, and
// only changed bandwidths are reported here.
void compareLinks(const HostFacts& a, const HostFacts& b, const NodeMatch& match, bool files,
                  ChangeList& list) {
  const auto inA = linksOf(a.links, match, true);
  const auto inB = linksOf(b.links, match, false);
  std::set<LinkKey> keys;
  for (const auto& [key, bandwidth] : inA) keys.insert(key);
  for (const auto& [key, bandwidth] : inB) keys.insert(key);
  for (const LinkKey& key : keys) {
    const std::string before = linkText(inA, key);
    const std::string after = linkText(inB, key);
    const bool onBoth = !before.empty() && !after.empty();
    if (before == after || (onBoth && sameNumber(inA.at(key), inB.at(key)))) continue;
    if (files && !onBoth) continue;
    // A link is reported once for both directions if they changed alike.
    const LinkKey back{key.to, key.from, key.type};
    const bool mutual = linkText(inA, back) == before && linkText(inB, back) == after;
    if (mutual && key.to < key.from) continue;
    list.add({.kind = mutual ? "link" : "link, one way", .before = before, .after = after},
             {fmt::format("{} {} {}", match.label(key.from), mutual ? "-" : "to", match.label(key.to))});
  }
}

void compareRanks(const NodeMatch& match, ChangeList& list) {
  for (int id = 0; id < match.count(); ++id)
    if (match.is(id, "GPU") && match.onBoth(id) && match.inA(id)->rank != match.inB(id)->rank)
      list.add({.kind = "GPU",
                .what = "rank",
                .before = std::to_string(match.inA(id)->rank),
                .after = std::to_string(match.inB(id)->rank)},
               {match.label(id)});
}

}  // namespace

void compareValues(const NamedValues& a, const NamedValues& b, const std::string& kind,
                   const std::string& where, Changes& changes, const std::string& absent) {
  const auto valueIn = [&](const NamedValues& values, const std::string& name) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& pair) { return pair.first == name; });
    return found == values.end() ? absent : found->second;
  };
  std::vector<std::string> names;
  for (const NamedValues* values : {&a, &b})
    for (const auto& [name, value] : *values)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  for (const std::string& name : names) {
    const std::string before = valueIn(a, name);
    const std::string after = valueIn(b, name);
    if (before != after)
      changes.push_back({.where = where, .kind = kind, .what = name, .before = before, .after = after});
  }
}

int compareMachines(const HostFacts& a, const HostFacts& b, const NodeMatch& match, const Renaming& names,
                    const std::string& where, PlanDiff& diff) {
  int otherGuids = 0;
  const bool files = a.document != nullptr && b.document != nullptr;
  const bool nodes = !a.nodes.empty() && !b.nodes.empty();
  if (files) {
    DocumentDiff documents = compareDocuments(*a.document, *b.document, where, names);
    otherGuids = documents.otherGuids;
    std::move(documents.elements.begin(), documents.elements.end(), std::back_inserter(diff.machine));
    std::move(documents.order.begin(), documents.order.end(), std::back_inserter(diff.order));
  } else if (nodes) {
    ChangeList list(where);
    compareNodes(match, a.allGpus && b.allGpus, list);
    list.appendTo(diff.machine);
    compareNodeOrder(a, b, match, list);
    list.appendTo(diff.order);
  }
  if (!nodes) return otherGuids;
  ChangeList list(where);
  compareLinks(a, b, match, files, list);
  list.appendTo(diff.links);
  compareRanks(match, list);
  list.appendTo(diff.ranks);
  return otherGuids;
}

}  // namespace xylem::diff
