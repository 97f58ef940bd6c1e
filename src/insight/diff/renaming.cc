#include "insight/diff/renaming.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "insight/diff/document.h"
#include "planner/topology/attributes.h"

namespace xylem::diff {
namespace {

using topology::Document;
using topology::ElementId;

// Follows the name of a device of B that A lacks, if A has this name for another device.
constexpr const char* kOnlyInB = " of B";

// The named elements of a file, and what each element holds.
class Tree {
 public:
  explicit Tree(const Document& document)
      : document(document), gpus_(document.size()), nets_(document.size()), looks_(document.size()) {
    visit(document.root());
    for (ElementId id : links_) {
      const std::string target = comparableBusId(document.text(id, "target"));
      if (target.empty() || pcis_.contains(target)) continue;
      std::vector<std::string>& ofClass = outside_[document.text(id, "tclass")];
      if (std::find(ofClass.begin(), ofClass.end(), target) == ofClass.end()) ofClass.push_back(target);
    }
  }

  // The name of a pci or a net; empty for other elements and for those without a name.
  std::string nameOf(ElementId id) const {
    if (document[id].name == "pci") return comparableBusId(document.text(id, "busid"));
    return document[id].name == "net" ? document.text(id, "name") : "";
  }
  const std::set<std::string>& pcis() const { return pcis_; }
  const std::set<std::string>& nets() const { return netNames_; }
  bool twoOfOneName() const { return twoOfOneName_; }
  // The bus ids of links' other ends that are no pci of the tree (NVSwitches), in order of appearance, by class.
  const std::map<std::string, std::vector<std::string>>& outside() const { return outside_; }

  // All that the element and those inside of it say, but for names.
  const std::string& looks(ElementId id) const { return looks_[static_cast<std::size_t>(id)]; }
  // The purpose of the element: its kind, and how many GPUs and NICs it holds.
  std::string role(ElementId id) const {
    const auto at = static_cast<std::size_t>(id);
    return fmt::format("{} {} {}", document[id].name, gpus_[at], nets_[at]);
  }

  const Document& document;

 private:
  static bool isName(const std::string& attribute) {
    static const std::set<std::string> names = {"busid", "name", "guid", "target", "host_hash"};
    return names.contains(attribute);
  }

  void visit(ElementId id) {
    const topology::Element& element = document[id];
    const auto at = static_cast<std::size_t>(id);
    const std::string name = nameOf(id);
    if (!name.empty() && !(element.name == "pci" ? pcis_ : netNames_).insert(name).second)
      twoOfOneName_ = true;
    if (element.name.ends_with("link")) links_.push_back(id);
    gpus_[at] = element.name == "gpu" ? 1 : 0;
    nets_[at] = element.name == "net" ? 1 : 0;
    std::string looks = element.name;
    for (const auto& [attribute, value] : element.attributes)
      if (!isName(attribute)) looks += fmt::format(" {}={}", attribute, value);
    for (ElementId child : element.children) {
      visit(child);
      gpus_[at] += gpus_[static_cast<std::size_t>(child)];
      nets_[at] += nets_[static_cast<std::size_t>(child)];
      looks += '(' + this->looks(child) + ')';
    }
    // A number instead of the text keeps files with deep trees cheap.
    looks_[at] = fmt::format("{:x}", std::hash<std::string>()(looks));
  }

  std::vector<int> gpus_, nets_;
  std::vector<std::string> looks_;
  std::vector<ElementId> links_;
  std::set<std::string> pcis_, netNames_;
  std::map<std::string, std::vector<std::string>> outside_;
  bool twoOfOneName_ = false;
};

// The kinds of names that mean the same device where both files have them.
struct Trust {
  bool busIds = true;
  bool nets = true;
};

// Walks down both trees from the root, and notes the names of elements that it matches.
class Matching {
 public:
  Matching(const Tree& a, const Tree& b, Trust trust) : a_(a), b_(b), trust_(trust) {}

  Renaming run() {
    matchInside(a_.document.root(), b_.document.root());
    matchOutside();
    const std::set<std::string> busIds = namesInA(busIds_);
    const std::set<std::string> nets = namesInA(nets_);
    Renaming names{finished(busIds_, b_.pcis(), busIds), finished(nets_, b_.nets(), nets)};
    return names;
  }

 private:
  using Names = std::map<std::string, std::string>;

  bool trusted(const std::string& kind) const { return kind == "pci" ? trust_.busIds : trust_.nets; }
  // True if the name alone says which element of the other file this one is.
  bool known(const Tree& there, const std::string& kind, const std::string& name) const {
    if (!trusted(kind)) return false;
    return (kind == "pci" ? there.pcis() : there.nets()).contains(name);
  }

  void match(ElementId a, ElementId b) {
    const std::string& kind = a_.document[a].name;
    const std::string inA = a_.nameOf(a);
    const std::string inB = b_.nameOf(b);
    if (!inA.empty() && !inB.empty()) (kind == "pci" ? busIds_ : nets_)[inB] = inA;
    matchInside(a, b);
  }

  void matchInside(ElementId a, ElementId b) {
    std::vector<ElementId> ofA = a_.document[a].children;
    std::vector<ElementId> ofB = b_.document[b].children;
    const auto cpu = [](const Tree& tree, ElementId id) {
      return tree.document[id].name == "cpu" ? tree.document.text(id, "numaid") : "";
    };
    pairUp(ofA, ofB, [&](const Tree& tree, ElementId id) { return cpu(tree, id); });
    pairUp(ofA, ofB, [&](const Tree& tree, ElementId id) {
      const std::string name = tree.nameOf(id);
      const Tree& other = &tree == &a_ ? b_ : a_;
      return !name.empty() && known(other, tree.document[id].name, name) ? name : "";
    });
    pairUp(ofA, ofB, [&](const Tree& tree, ElementId id) { return free(tree, id) ? tree.looks(id) : ""; });
    pairUp(ofA, ofB, [&](const Tree& tree, ElementId id) { return free(tree, id) ? tree.role(id) : ""; });
  }

  // True if the element may be matched by its place: not with a name that the other file has elsewhere.
  bool free(const Tree& tree, ElementId id) const {
    const std::string& kind = tree.document[id].name;
    if (kind == "cpu") return false;
    const std::string name = tree.nameOf(id);
    return name.empty() || !known(&tree == &a_ ? b_ : a_, kind, name);
  }

  // Matches elements with the same key in order, and takes them out of both lists. An empty key matches none.
  template <typename Key>
  void pairUp(std::vector<ElementId>& ofA, std::vector<ElementId>& ofB, const Key& key) {
    std::map<std::string, std::vector<ElementId>> waiting;
    for (ElementId id : ofB)
      if (const std::string text = key(b_, id); !text.empty()) waiting[text].push_back(id);
    std::map<std::string, std::size_t> taken;
    std::set<ElementId> doneA, doneB;
    for (ElementId id : ofA) {
      const std::string text = key(a_, id);
      const auto found = text.empty() ? waiting.end() : waiting.find(text);
      if (found == waiting.end() || taken[text] == found->second.size()) continue;
      const ElementId other = found->second[taken[text]++];
      doneA.insert(id);
      doneB.insert(other);
      match(id, other);
    }
    std::erase_if(ofA, [&](ElementId id) { return doneA.contains(id); });
    std::erase_if(ofB, [&](ElementId id) { return doneB.contains(id); });
  }

  // NVSwitches and the like are in no tree: those that one file lacks are matched in order of appearance.
  void matchOutside() {
    for (const auto& [tclass, ofA] : a_.outside()) {
      const auto found = b_.outside().find(tclass);
      if (found == b_.outside().end()) continue;
      const auto without = [](const std::vector<std::string>& all, const std::vector<std::string>& others) {
        std::vector<std::string> left;
        for (const std::string& name : all)
          if (std::find(others.begin(), others.end(), name) == others.end()) left.push_back(name);
        return left;
      };
      const std::vector<std::string> onlyA = without(ofA, found->second);
      const std::vector<std::string> onlyB = without(found->second, ofA);
      if (onlyA.size() != onlyB.size()) continue;
      for (std::size_t i = 0; i < onlyA.size(); ++i) busIds_[onlyB[i]] = onlyA[i];
    }
  }

  static std::set<std::string> namesInA(const Names& names) {
    std::set<std::string> used;
    for (const auto& [inB, inA] : names) used.insert(inA);
    return used;
  }

  // The matches without those of equal names. A name of B that stands for no device of A, but that A has for
  // a device that has another name in B, gets a mark.
  static Names finished(const Names& matched, const std::set<std::string>& all,
                        const std::set<std::string>& used) {
    Names names;
    for (const auto& [inB, inA] : matched)
      if (inB != inA) names[inB] = inA;
    for (const std::string& name : all)
      if (!matched.contains(name) && used.contains(name)) names[name] = name + kOnlyInB;
    return names;
  }

  const Tree& a_;
  const Tree& b_;
  Trust trust_;
  Names busIds_, nets_;
};

std::vector<std::pair<std::string, std::string>> pairsOf(const std::map<std::string, std::string>& names) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [inB, inA] : names)
    if (!inA.ends_with(kOnlyInB)) pairs.emplace_back(inA, inB);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace

std::string comparableBusId(const std::string& text) {
  const auto id = topology::parseBusId(text);
  return id && text.size() == topology::busIdText(*id).size() ? topology::busIdText(*id) : text;
}

Renaming findRenaming(const Document& a, const Document& b) {
  const Tree ofA(a);
  const Tree ofB(b);
  // Files of several hosts may have a name once per host.
  if (ofA.twoOfOneName() || ofB.twoOfOneName()) return {};
  // Where both files have the same names, a device that is elsewhere has moved.
  const bool sameBusIds = ofA.pcis() == ofB.pcis();
  const bool sameNets = ofA.nets() == ofB.nets();
  std::optional<Renaming> best;
  int fewest = 0;
  for (const Trust trust : {Trust{true, true}, Trust{true, false}, Trust{false, true}, Trust{false, false}}) {
    if ((!trust.busIds && sameBusIds) || (!trust.nets && sameNets)) continue;
    Renaming names = Matching(ofA, ofB, trust).run();
    const int found = compareDocuments(a, b, "", names).weight;
    if (best && found >= fewest) continue;
    best = std::move(names);
    fewest = found;
  }
  return *best;
}

std::vector<std::pair<std::string, std::string>> renamedNets(const Renaming& names) {
  return pairsOf(names.nets);
}
std::vector<std::pair<std::string, std::string>> renamedBusIds(const Renaming& names) {
  return pairsOf(names.busIds);
}

}  // namespace xylem::diff
