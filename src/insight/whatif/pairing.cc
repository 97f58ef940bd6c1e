#include "insight/whatif/pairing.h"

#include <algorithm>
#include <map>

namespace xylem::whatif {
namespace {

topology::ElementId cpuOf(const topology::Document& document, topology::ElementId element) {
  while (element != topology::kNoElement && document[element].name != "cpu")
    element = document[element].parent;
  return element;
}

void addGroups(const std::vector<topology::ElementId>& gpus, const std::vector<topology::ElementId>& nets,
               std::vector<PairedGroup>& groups) {
  const std::size_t count = std::min(gpus.size(), nets.size());
  if (count == 0) return;
  const std::size_t first = groups.size();
  groups.resize(first + count);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    groups[first + i * count / gpus.size()].gpus.push_back(gpus[i]);
  for (std::size_t i = 0; i < nets.size(); ++i)
    groups[first + i * count / nets.size()].nets.push_back(nets[i]);
}

struct Held {
  int gpus = 0, nets = 0;
  bool together = false;  // some switch holds a GPU and a NIC
};

Held heldBelow(const topology::Document& document, topology::ElementId element) {
  Held held;
  const std::string& name = document[element].name;
  if (name == "gpu") ++held.gpus;
  if (name == "net") ++held.nets;
  for (const topology::ElementId child : document[element].children) {
    const Held below = heldBelow(document, child);
    held.gpus += below.gpus;
    held.nets += below.nets;
    held.together = held.together || below.together;
  }
  if (name == "pci" && held.gpus > 0 && held.nets > 0) held.together = true;
  return held;
}

}  // namespace

std::vector<PairedGroup> pairedGroups(const topology::Document& document,
                                      const std::vector<topology::ElementId>& gpus,
                                      const std::vector<topology::ElementId>& nets) {
  struct Devices {
    std::vector<topology::ElementId> gpus, nets;
  };
  std::map<topology::ElementId, Devices> byCpu;
  for (const topology::ElementId gpu : gpus) byCpu[cpuOf(document, gpu)].gpus.push_back(gpu);
  for (const topology::ElementId net : nets) byCpu[cpuOf(document, net)].nets.push_back(net);
  const bool known = std::all_of(byCpu.begin(), byCpu.end(), [](const auto& entry) {
    return entry.second.nets.empty() || !entry.second.gpus.empty();
  });
  std::vector<PairedGroup> groups;
  if (!known) {
    addGroups(gpus, nets, groups);
    return groups;
  }
  for (const auto& [cpu, devices] : byCpu) addGroups(devices.gpus, devices.nets, groups);
  return groups;
}

bool showsPairs(const topology::Document& document) { return heldBelow(document, document.root()).together; }

bool isFlat(const topology::Document& document) {
  const Held held = heldBelow(document, document.root());
  return held.gpus > 1 && held.nets > 1 && !held.together;
}

}  // namespace xylem::whatif
