#pragma once
// Finds the devices that two topology files have under different names: two machines of one kind whose NICs
// or bus ids are numbered in another way, or a machine whose cards moved to other bus ids.
//
//   const Renaming names = findRenaming(a, b);
//   names.nets.at("rdma0")            ->  "mlx5_0": B's rdma0 has the place that mlx5_0 has in A
//   names.busIds.at("0000:1b:00.0")   ->  "0000:07:00.0"
//
// Elements that both files have under one name stay together, as long as that tells the fewest differences.
// The others are matched by their places: from the CPUs down, children of matched elements that look alike,
// else those that hold as many GPUs and NICs, in document order.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/topology/document.h"

namespace xylem::diff {

// The names that A has for B's devices, by B's names. Devices that have the same name on both sides have no
// entry.
struct Renaming {
  std::map<std::string, std::string> busIds;  // of pci elements, and of ends of links outside of the tree
  std::map<std::string, std::string> nets;    // names of network devices

  bool empty() const { return busIds.empty() && nets.empty(); }
  const std::string& busIdInA(const std::string& inB) const { return inA(busIds, inB); }
  const std::string& netInA(const std::string& inB) const { return inA(nets, inB); }

 private:
  static const std::string& inA(const std::map<std::string, std::string>& names, const std::string& inB) {
    const auto found = names.find(inB);
    return found == names.end() ? inB : found->second;
  }
};

Renaming findRenaming(const topology::Document& a, const topology::Document& b);

// A bus id as names compare it: in small letters if it is complete, else as it is written.
std::string comparableBusId(const std::string& text);

// The pairs of names, A's first; without the ones that only mark B's devices that A lacks.
std::vector<std::pair<std::string, std::string>> renamedNets(const Renaming& names);
std::vector<std::pair<std::string, std::string>> renamedBusIds(const Renaming& names);

}  // namespace xylem::diff
