#pragma once
// Which node of one machine is which of another: GPUs and switches by bus id, CPUs by NUMA id, NETs by the
// name of the network device, or its hardware id and port, or, where plans name neither, its number.
//
//   NodeMatch match(before.nodes, after.nodes);
//   match.idInB("NET/0-3") == match.idInA("NET/0-0")   ->   true: mlx5_0 has another number now
//   match.label(id)                                    ->   "mlx5_0"
//
// If no GPU has a bus id that the other machine has, they are other machines, and GPUs are matched by rank.

#include <map>
#include <string>
#include <vector>

#include "insight/diff/facts.h"

namespace xylem {

class NodeMatch {
 public:
  NodeMatch(const std::vector<NodeFacts>& a, const std::vector<NodeFacts>& b);

  // The same number for nodes that are the same; -1 for a name that is no node's.
  int idInA(const std::string& name) const { return idIn(idsOfA_, name); }
  int idInB(const std::string& name) const { return idIn(idsOfB_, name); }
  int count() const { return static_cast<int>(nodes_.size()); }
  // Null where the node is not there.
  const NodeFacts* inA(int id) const { return nodes_[static_cast<std::size_t>(id)].a; }
  const NodeFacts* inB(int id) const { return nodes_[static_cast<std::size_t>(id)].b; }
  bool onBoth(int id) const { return id >= 0 && inA(id) != nullptr && inB(id) != nullptr; }
  bool is(int id, const char* type) const;
  // What people call it. Ranks and device numbers only where both sides give the same ones.
  const std::string& label(int id) const { return nodes_[static_cast<std::size_t>(id)].label; }
  bool gpusByRank() const { return gpusByRank_; }

 private:
  struct Pair {
    const NodeFacts* a = nullptr;
    const NodeFacts* b = nullptr;
    std::string label;
  };
  static int idIn(const std::map<std::string, int>& ids, const std::string& name) {
    const auto found = ids.find(name);
    return found == ids.end() ? -1 : found->second;
  }
  void matchBy(const std::vector<NodeFacts>& b, const char* type, std::string (*key)(const NodeFacts&));
  void giveLabels(const char* type, std::string (*numbered)(const NodeFacts&),
                  std::string (*named)(const NodeFacts&));

  std::vector<Pair> nodes_;
  std::map<std::string, int> idsOfA_, idsOfB_;
  bool gpusByRank_ = false;
};

// "1b000" of "GPU/0-1b000", and its host, "0".
std::string localPart(const std::string& name);
std::string hostPart(const std::string& name);

}  // namespace xylem
