#include "planner/topology/complete.h"

#include <set>
#include <vector>

#include "planner/topology/attributes.h"
#include "planner/topology/fuse.h"

namespace xylem::topology {
namespace {

// The elements that completion looks at, by kind, in document order.
struct Inventory {
  std::vector<ElementId> gpus, nets, pcis, nvlinks;
  std::set<std::uint64_t> gpuBusIds;
  bool anyKeep = false;
  bool anyNetKeep = false;
  bool anyRank = false;
  bool allRanks = true;
};

void collect(const Document& document, ElementId element, Inventory& found) {
  const Element& e = document[element];
  const bool keep = document.attribute(element, "keep") != nullptr;
  found.anyKeep |= keep;
  if (e.name == "gpu") {
    found.gpus.push_back(element);
    const bool ranked = document.attribute(element, "rank") != nullptr;
    found.anyRank |= ranked;
    found.allRanks &= ranked;
    const std::string* bus = document.attribute(e.parent, "busid");
    if (bus != nullptr)
      if (const auto id = parseBusId(*bus)) found.gpuBusIds.insert(*id);
  } else if (e.name == "net") {
    found.nets.push_back(element);
    found.anyNetKeep |= keep;
  } else if (e.name == "pci") {
    found.pcis.push_back(element);
  } else if (e.name == "nvlink") {
    found.nvlinks.push_back(element);
  }
  for (ElementId child : e.children) collect(document, child, found);
}

// Sets the defaults of completeAttributes.
void setDefaults(Document& document, const Inventory& found) {
  for (ElementId gpu : found.gpus) document.setIfAbsent(gpu, "gdr", "1");
  for (ElementId pci : found.pcis) {
    document.setIfAbsent(pci, "link_speed", "");
    document.setIfAbsent(pci, "link_width", "");
    if (document.child(pci, "gpu") != kNoElement) document.setIfAbsent(pci, "class", "0x03");
    if (document.child(pci, "nic") != kNoElement) document.setIfAbsent(pci, "class", "0x02");
  }
  for (ElementId nvlink : found.nvlinks) {
    const std::string* target = document.attribute(nvlink, "target");
    const auto id = target == nullptr ? std::nullopt : parseBusId(*target);
    document.setIfAbsent(nvlink, "tclass", id && found.gpuBusIds.contains(*id) ? "0x03" : "0x068000");
  }
}

// Throws InputError unless the n gpu elements with a rank have ranks 0 to n-1, each once.
void checkRanks(const Document& document, const Inventory& found) {
  std::vector<ElementId> owner;
  for (ElementId gpu : found.gpus)
    if (document.attribute(gpu, "rank") != nullptr) owner.push_back(kNoElement);
  for (ElementId gpu : found.gpus) {
    const Attributes attributes(document, gpu);
    if (!attributes.has("rank")) continue;
    const auto last = static_cast<std::int64_t>(owner.size()) - 1;
    const auto rank = static_cast<std::size_t>(attributes.integer("rank", 0, last));
    if (owner[rank] != kNoElement)
      attributes.fail(fmt::format("a second gpu with rank {} (the first is in line {})", rank,
                                  document[owner[rank]].line),
                      "every rank on one gpu");
    owner[rank] = gpu;
  }
}

}  // namespace

Document completeAttributes(Document document) {
  Inventory found;
  collect(document, document.root(), found);
  setDefaults(document, found);
  return document;
}

Document completeForJob(Document document, const rules::RuleSet& rules) {
  Inventory found;
  collect(document, document.root(), found);
  setDefaults(document, found);
  if (!found.anyRank) {
    int rank = 0;
    for (ElementId gpu : found.gpus) document.set(gpu, "rank", std::to_string(rank++));
  } else {
    checkRanks(document, found);
  }
  if (found.anyKeep || (found.anyRank && !found.allRanks)) {
    for (ElementId gpu : found.gpus)
      if (document.attribute(gpu, "rank") != nullptr) document.set(gpu, "keep", "1");
    if (!found.anyNetKeep)
      for (ElementId net : found.nets)
        if (document.attribute(net, "dev") != nullptr) document.set(net, "keep", "1");
    trimToKept(document, rules);
  }
  return document;
}

void offerCollnet(Document& document) {
  Inventory found;
  collect(document, document.root(), found);
  for (ElementId net : found.nets) document.setIfAbsent(net, "coll", "1");
}

}  // namespace xylem::topology
