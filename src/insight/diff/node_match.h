#pragma once
// Matches the nodes of two machines: GPUs and switches by bus id, CPUs by NUMA id, NETs by the name of the
// network device, else by its hardware id and port, or, if the plans name neither, by its number.
//
//   NodeMatch match(before.nodes, after.nodes);
//   match.idInB("NET/0-3") == match.idInA("NET/0-0")   ->   true: mlx5_0 has another number now
//   match.label(id)                                    ->   "mlx5_0"
//
// `names` says which names of B are those of A's devices in the topology files (renaming.h); null if a side
// is a plan without its file. Then NETs that are left on both sides are matched by number. If no GPU has a bus
// id that the other machine has too, the machines are different ones, and GPUs are matched by rank.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "insight/diff/facts.h"
#include "insight/diff/renaming.h"

namespace xylem::diff {

class NodeMatch {
 public:
  // Keeps pointers to the nodes.
  NodeMatch(const std::vector<NodeFacts>& a, const std::vector<NodeFacts>& b,
            const Renaming* names = nullptr);

  // Matched nodes have the same id; -1 if no node has this name.
  int idInA(const std::string& name) const { return idIn(idsOfA_, name); }
  int idInB(const std::string& name) const { return idIn(idsOfB_, name); }
  int count() const { return static_cast<int>(nodes_.size()); }
  // Null if this machine lacks the node.
  const NodeFacts* inA(int id) const { return nodes_[static_cast<std::size_t>(id)].a; }
  const NodeFacts* inB(int id) const { return nodes_[static_cast<std::size_t>(id)].b; }
  bool onBoth(int id) const { return id >= 0 && inA(id) != nullptr && inB(id) != nullptr; }
  bool is(int id, const char* type) const;
  // The node's name for people. It has a rank or device number only if both machines give the same one.
  const std::string& label(int id) const { return nodes_[static_cast<std::size_t>(id)].label; }
  // True if the ranks of GPUs match others than their names do.
  bool gpusByRank() const { return gpusByRank_; }
  bool netsByNumber() const { return netsByNumber_; }

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
  using Key = std::function<std::string(const NodeFacts&)>;
  void matchBy(const std::vector<NodeFacts>& b, const char* type, const Key& keyOfA, const Key& keyOfB);
  void matchNetsByNumber(const std::vector<NodeFacts>& b);
  void giveLabels(const char* type, std::string (*numbered)(const NodeFacts&),
                  std::string (*named)(const NodeFacts&));

  std::vector<Pair> nodes_;
  std::map<std::string, int> idsOfA_, idsOfB_;
  bool gpusByRank_ = false;
  bool netsByNumber_ = false;
};

// "1b000" of "GPU/0-1b000".
std::string localPart(const std::string& name);

}  // namespace xylem::diff
