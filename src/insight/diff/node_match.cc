// The matching is greedy, from the surest key to the weakest: names of nodes, which contain bus ids and
// NUMA ids; for NETs the device's name, its hardware id and port, its number; and at last, if no GPU was
// matched, the ranks of GPUs. A key that two nodes of one machine have matches nothing. Names of B are first
// replaced by those that A has for the same devices.
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
// The node's name with the bus id that A has for it.
std::string nameInA(const NodeFacts& node, const Renaming& names) {
  const bool atBus = node.type == "GPU" || node.type == "PCI" || node.type == "NIC";
  const auto id = atBus ? topology::parseBusId(localPart(node.name)) : std::nullopt;
  if (!id) return node.name;
  const std::string own = topology::busIdText(*id);
  const std::string& inA = names.busIdInA(own);
  if (inA == own) return node.name;
  const auto idInA = topology::parseBusId(inA);
  return fmt::format("{}/{}-{}", node.type, hostPart(node.name), idInA ? fmt::format("{:x}", *idInA) : inA);
}
std::string rankKey(const NodeFacts& node) { return std::to_string(node.rank); }
std::string deviceKey(const NodeFacts& node) {
  return node.device.empty() ? "" : hostPart(node.name) + node.device;
}
// The device's name in A. A device of several ports that NCCL merged has their names, with + between them.
std::string deviceInA(const NodeFacts& node, const Renaming& names) {
  std::string device;
  for (std::size_t at = 0; at < node.device.size();) {
    const std::size_t end = std::min(node.device.find('+', at), node.device.size());
    device += (at == 0 ? "" : "+") + names.netInA(node.device.substr(at, end - at));
    at = end + 1;
  }
  return device.empty() ? "" : hostPart(node.name) + device;
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

NodeMatch::NodeMatch(const std::vector<NodeFacts>& a, const std::vector<NodeFacts>& b,
                     const Renaming* names) {
  const Renaming none;
  const Renaming& known = names == nullptr ? none : *names;
  for (const NodeFacts& node : a) {
    if (idsOfA_.emplace(node.name, count()).second) nodes_.push_back({&node, nullptr, ""});
  }
  const Key translated = [&](const NodeFacts& node) { return nameInA(node, known); };
  const bool anyGpu = std::any_of(b.begin(), b.end(), [&](const NodeFacts& node) {
    return node.type == "GPU" && idsOfA_.contains(node.name);
  });
  if (!anyGpu) {
    matchBy(b, "GPU", rankKey, rankKey);
    for (const NodeFacts& node : b)
      if (const int id = idInB(node.name); node.type == "GPU" && onBoth(id))
        gpusByRank_ = gpusByRank_ || inA(id)->name != translated(node);
  }
  for (const char* type : {"GPU", "PCI", "NVS", "CPU", "NIC"}) matchBy(b, type, nameKey, translated);
  matchBy(b, "NET", deviceKey, [&](const NodeFacts& node) { return deviceInA(node, known); });
  matchBy(b, "NET", hardwareKey, hardwareKey);
  // If both plans name their devices, numbers must not match NETs of different names.
  const bool named =
      std::any_of(b.begin(), b.end(), [](const NodeFacts& node) { return !node.device.empty(); }) &&
      std::any_of(a.begin(), a.end(), [](const NodeFacts& node) { return !node.device.empty(); });
  if (!named) matchBy(b, "NET", nameKey, nameKey);
  if (named && names == nullptr) matchNetsByNumber(b);
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

// Matches the NETs that are left, if each side has the same numbers left.
void NodeMatch::matchNetsByNumber(const std::vector<NodeFacts>& b) {
  std::set<std::string> ofA;
  std::set<std::string> ofB;
  for (const Pair& pair : nodes_)
    if (pair.b == nullptr && pair.a->type == "NET") ofA.insert(pair.a->name);
  for (const NodeFacts& node : b)
    if (node.type == "NET" && !idsOfB_.contains(node.name)) ofB.insert(node.name);
  if (ofA.empty() || ofA != ofB) return;
  matchBy(b, "NET", nameKey, nameKey);
  netsByNumber_ = true;
}

// Matches the nodes of this type that are not matched yet by a key, if it is unique on both sides.
void NodeMatch::matchBy(const std::vector<NodeFacts>& b, const char* type, const Key& keyOfA,
                        const Key& keyOfB) {
  std::map<std::string, std::vector<int>> ofA;
  std::map<std::string, std::vector<const NodeFacts*>> ofB;
  for (int id = 0; id < count(); ++id) {
    const Pair& pair = nodes_[static_cast<std::size_t>(id)];
    if (pair.b == nullptr && pair.a->type == type) ofA[keyOfA(*pair.a)].push_back(id);
  }
  std::set<std::string> seen;
  for (const NodeFacts& node : b)
    if (node.type == type && !idsOfB_.contains(node.name) && seen.insert(node.name).second)
      ofB[keyOfB(node)].push_back(&node);
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
