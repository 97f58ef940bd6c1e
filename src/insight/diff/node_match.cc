// The matching is greedy, from the surest key to the weakest: names of nodes, which contain bus ids and
// NUMA ids; for NETs the device's name, its hardware id and port, its number; and at last, if no GPU was
// matched, the ranks of GPUs. A key that two nodes of one machine have matches nothing.
#include "insight/diff/node_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "planner/topology/attributes.h"

namespace xylem::diff {
namespace {

std::string attribute(const NodeFacts& node, const char* key) {
  for (const auto& [name, value] : node.attributes)
    if (name == key) return value;
  return "";
}

// "0" of "GPU/0-1b000".
std::string hostPart(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::size_t dash = name.find('-', slash);
  return slash == std::string::npos || dash == std::string::npos ? ""
                                                                 : name.substr(slash + 1, dash - slash - 1);
}

// The keys that nodes are matched by; an empty key matches nothing.
std::string nameKey(const NodeFacts& node) { return node.name; }
std::string rankKey(const NodeFacts& node) { return std::to_string(node.rank); }
std::string deviceKey(const NodeFacts& node) {
  return node.device.empty() ? "" : hostPart(node.name) + node.device;
}
std::string hardwareKey(const NodeFacts& node) {
  const std::string guid = attribute(node, "guid");
  return guid.empty() || guid == "0"
             ? ""
             : fmt::format("{} {} {}", hostPart(node.name), guid, attribute(node, "port"));
}

std::string atHost(const NodeFacts& node) {
  const std::string host = hostPart(node.name);
  return host == "0" ? "" : "@" + host;
}
std::string busText(const NodeFacts& node) {
  const auto id = topology::parseBusId(localPart(node.name));
  return id ? topology::busIdText(*id) : localPart(node.name);
}
std::string number(const NodeFacts& node) {
  const auto id = topology::parseBusId(localPart(node.name));
  return id ? std::to_string(*id) : localPart(node.name);
}

std::string numberedGpu(const NodeFacts& node) { return fmt::format("GPU {}", node.rank); }
std::string namedGpu(const NodeFacts& node) { return fmt::format("GPU {}{}", busText(node), atHost(node)); }
std::string numberedNet(const NodeFacts& node) { return fmt::format("NET {}{}", number(node), atHost(node)); }
std::string namedNet(const NodeFacts& node) {
  return node.device.empty() ? numberedNet(node) : node.device + atHost(node);
}
std::string otherName(const NodeFacts& node) {
  if (node.type == "CPU" || node.type == "NVS")
    return fmt::format("{} {}{}", node.type, number(node), atHost(node));
  return fmt::format("{} {}{}", node.type == "PCI" ? "switch" : node.type, busText(node), atHost(node));
}

}  // namespace

std::string localPart(const std::string& name) {
  const std::size_t dash = name.find('-');
  return dash == std::string::npos ? name : name.substr(dash + 1);
}

NodeMatch::NodeMatch(const std::vector<NodeFacts>& a, const std::vector<NodeFacts>& b) {
  for (const NodeFacts& node : a) {
    if (idsOfA_.emplace(node.name, count()).second) nodes_.push_back({&node, nullptr, ""});
  }
  for (const char* type : {"GPU", "PCI", "NVS", "CPU", "NIC"}) matchBy(b, type, nameKey);
  matchBy(b, "NET", deviceKey);
  matchBy(b, "NET", hardwareKey);
  // If both plans name their devices, numbers must not match NETs of different names.
  const bool named =
      std::any_of(b.begin(), b.end(), [](const NodeFacts& node) { return !node.device.empty(); }) &&
      std::any_of(a.begin(), a.end(), [](const NodeFacts& node) { return !node.device.empty(); });
  if (!named) matchBy(b, "NET", nameKey);
  const bool anyGpu = std::any_of(nodes_.begin(), nodes_.end(), [](const Pair& pair) {
    return pair.b != nullptr && pair.b->type == "GPU";
  });
  if (!anyGpu) {
    matchBy(b, "GPU", rankKey);
    gpusByRank_ = true;
  }
  for (const NodeFacts& node : b) {
    if (!idsOfB_.emplace(node.name, count()).second) continue;
    nodes_.push_back({nullptr, &node, ""});
  }
  giveLabels("GPU", numberedGpu, namedGpu);
  giveLabels("NET", numberedNet, namedNet);
  for (const char* type : {"PCI", "NVS", "CPU", "NIC"}) giveLabels(type, otherName, otherName);
}

bool NodeMatch::is(int id, const char* type) const {
  const Pair& pair = nodes_[static_cast<std::size_t>(id)];
  return (pair.a != nullptr ? pair.a : pair.b)->type == type;
}

// Matches the nodes of this type that are not matched yet by a key, if it is unique on both sides.
void NodeMatch::matchBy(const std::vector<NodeFacts>& b, const char* type,
                        std::string (*key)(const NodeFacts&)) {
  std::map<std::string, std::vector<int>> ofA;
  std::map<std::string, std::vector<const NodeFacts*>> ofB;
  for (int id = 0; id < count(); ++id) {
    const Pair& pair = nodes_[static_cast<std::size_t>(id)];
    if (pair.b == nullptr && pair.a->type == type) ofA[key(*pair.a)].push_back(id);
  }
  std::set<std::string> seen;
  for (const NodeFacts& node : b)
    if (node.type == type && !idsOfB_.contains(node.name) && seen.insert(node.name).second)
      ofB[key(node)].push_back(&node);
  for (const auto& [text, ids] : ofA) {
    const auto found = ofB.find(text);
    if (text.empty() || found == ofB.end() || ids.size() > 1 || found->second.size() > 1) continue;
    nodes_[static_cast<std::size_t>(ids.front())].b = found->second.front();
    idsOfB_[found->second.front()->name] = ids.front();
  }
}

// Labels the nodes of a type by number if each of them has the same number on both sides, else by name.
void NodeMatch::giveLabels(const char* type, std::string (*numbered)(const NodeFacts&),
                           std::string (*named)(const NodeFacts&)) {
  bool sameNumbers = true;
  const bool byRank = gpusByRank_ && std::string(type) == "GPU";
  for (int id = 0; id < count(); ++id)
    if (is(id, type)) sameNumbers = sameNumbers && onBoth(id) && numbered(*inA(id)) == numbered(*inB(id));
  for (int id = 0; id < count(); ++id)
    if (is(id, type))
      nodes_[static_cast<std::size_t>(id)].label =
          (sameNumbers || byRank ? numbered : named)(inA(id) != nullptr ? *inA(id) : *inB(id));
}

}  // namespace xylem::diff
