#include "insight/diff/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "insight/diff/sections.h"

namespace xylem::diff {
namespace {

constexpr std::size_t kMaxChildrenListed = 8;

// The elements of a document, each with a key that says what it is: "pci 0000:1b:00.0", "cpu 0". Keys of B's
// devices have the names that these have in A.
class Elements {
 public:
  explicit Elements(const topology::Document& document, const Renaming& names = {})
      : document_(document), names_(names), keys_(document.size()) {
    label(document.root(), "", "system");
    visit(document.root());
  }

  const topology::Document& document() const { return document_; }
  const std::vector<topology::ElementId>& inOrder() const { return inOrder_; }
  const topology::Element& operator[](topology::ElementId id) const { return document_[id]; }
  // Unique in its document: a second element that would have the same key gets a number behind it.
  const std::string& key(topology::ElementId id) const { return keys_[static_cast<std::size_t>(id)]; }
  // The key without the element's kind.
  std::string name(topology::ElementId id) const { return key(id).substr(document_[id].name.size() + 1); }
  // The key with the names that this document has.
  std::string ownKey(topology::ElementId id) const {
    const std::string& kind = document_[id].name;
    topology::ElementId at = id;
    while (at != topology::kNoElement && document_[at].name != "pci" && document_[at].name != "cpu")
      at = document_[at].parent;
    const bool atBus = kind == "pci" || kind == "gpu" || kind == "nic";
    if (!atBus || at == topology::kNoElement || document_[at].name != "pci") return key(id);
    return fmt::format("{} {}", kind, comparableBusId(text(at, "busid")));
  }
  // The key of the first net with the same hardware id: that of the card.
  std::string cardOf(topology::ElementId net) const {
    const auto found = cards_.find(text(net, "guid"));
    return found == cards_.end() ? "" : key(found->second);
  }
  topology::ElementId find(const std::string& key) const {
    const auto found = ids_.find(key);
    return found == ids_.end() ? topology::kNoElement : found->second;
  }

 private:
  void visit(topology::ElementId id) {
    inOrder_.push_back(id);
    if (document_[id].name == "net") cards_.emplace(text(id, "guid"), id);
    for (topology::ElementId child : document_[id].children) {
      label(child, nameOf(child), document_[child].name);
      visit(child);
    }
  }

  void label(topology::ElementId id, const std::string& name, const std::string& kind) {
    std::string key = fmt::format("{} {}", kind, name);
    for (int again = 2; !ids_.emplace(key, id).second; ++again)
      key = fmt::format("{} {} #{}", kind, name, again);
    keys_[static_cast<std::size_t>(id)] = std::move(key);
  }

  std::string text(topology::ElementId id, const char* attribute) const {
    const std::string* value = document_.attribute(id, attribute);
    return value == nullptr ? "" : *value;
  }

  std::string bus(const std::string& text) const { return names_.busIdInA(comparableBusId(text)); }

  // The name of the nearest pci or cpu above the element.
  std::string place(topology::ElementId id) const {
    for (topology::ElementId at = document_[id].parent; at != topology::kNoElement; at = document_[at].parent)
      if (document_[at].name == "pci" || document_[at].name == "cpu") return nameOf(at);
    return "";
  }

  std::string nameOf(topology::ElementId id) const {
    const std::string& kind = document_[id].name;
    if (kind == "cpu") return cpuName(id);
    if (kind == "pci") return bus(text(id, "busid"));
    if (kind == "nvlink" || kind == "pcilink")
      return fmt::format("{} to {}", place(id), bus(text(id, "target")));
    if (kind == "net" && !text(id, "name").empty()) return names_.netInA(text(id, "name"));
    if (kind == "net") return "dev " + text(id, "dev");
    return place(id);
  }

  // The NUMA id, with the host in files of several hosts: each numbers its NUMA nodes from 0.
  std::string cpuName(topology::ElementId id) const {
    std::set<std::string> hosts;
    int host = 0;
    for (topology::ElementId cpu : document_[document_.root()].children)
      if (hosts.insert(text(cpu, "host_hash")).second && text(cpu, "host_hash") == text(id, "host_hash"))
        host = static_cast<int>(hosts.size()) - 1;
    const std::string numa = text(id, "numaid");
    return host == 0 ? numa : fmt::format("{} of host {}", numa, host);
  }

  const topology::Document& document_;
  const Renaming names_;
  std::map<std::string, topology::ElementId> cards_;  // the first net of each hardware id
  std::vector<std::string> keys_;
  std::map<std::string, topology::ElementId> ids_;
  std::vector<topology::ElementId> inOrder_;
};

// The number of elements inside of `id` that `other` lacks.
int heldAlone(const Elements& here, topology::ElementId id, const Elements& other) {
  int count = 0;
  for (topology::ElementId child : here[id].children)
    count += heldAlone(here, child, other) + (other.find(here.key(child)) == topology::kNoElement ? 1 : 0);
  return count;
}

// Walks through the elements of both documents in order. Each element is found in the other one by its key.
class Comparison {
 public:
  Comparison(const topology::Document& a, const topology::Document& b, const std::string& where,
             const Renaming& names)
      : a_(a), b_(b, names), elements_(where), order_(where) {}

  DocumentDiff run() {
    for (topology::ElementId id : a_.inOrder()) {
      const topology::ElementId other = b_.find(a_.key(id));
      if (other == topology::kNoElement) {
        gone(id);
        continue;
      }
      compareAttributes(id, other);
      comparePlaces(id, other);
      compareOrder(id, other);
    }
    for (topology::ElementId id : b_.inOrder())
      if (a_.find(b_.key(id)) == topology::kNoElement) come(id);
    DocumentDiff diff;
    elements_.appendTo(diff.elements);
    order_.appendTo(diff.order);
    diff.otherGuids = otherGuids_;
    diff.weight = weight_;
    return diff;
  }

 private:
  std::string held(const Elements& here, topology::ElementId id, const Elements& other) {
    const int inside = heldAlone(here, id, other);
    weight_ += 1 + inside;
    return inside == 0 ? "there"
                       : fmt::format("there, with {} element{} inside", inside, inside == 1 ? "" : "s");
  }

  // An element whose parent is gone too is part of the parent's change.
  void gone(topology::ElementId id) {
    if (b_.find(a_.key(a_[id].parent)) == topology::kNoElement) return;
    elements_.add({.kind = a_[id].name, .before = held(a_, id, b_)}, {a_.name(id), a_[id].line, 0});
  }
  void come(topology::ElementId id) {
    if (a_.find(b_.key(b_[id].parent)) == topology::kNoElement) return;
    elements_.add({.kind = b_[id].name, .after = held(b_, id, a_)}, {b_.name(id), 0, b_[id].line});
  }

  ChangedThing thing(topology::ElementId a, topology::ElementId b) const {
    return {a_.name(a), a_[a].line, b_[b].line};
  }

  void compareAttributes(topology::ElementId a, topology::ElementId b) {
    const auto value = [](const std::string* text) {
      return text == nullptr ? std::string() : text->empty() ? "\"\"" : *text;
    };
    const auto compare = [&](const std::string& name) {
      const std::string* before = a_.document().attribute(a, name);
      const std::string* after = b_.document().attribute(b, name);
      if (before != nullptr && after != nullptr && *before == *after) return;
      if (isIdentity(a_[a].name, name)) return;
      if (name == "guid" && before != nullptr && after != nullptr && a_.cardOf(a) == b_.cardOf(b)) {
        ++otherGuids_;
        return;
      }
      ++weight_;
      elements_.add({.kind = a_[a].name, .what = name, .before = value(before), .after = value(after)},
                    thing(a, b));
    };
    for (const auto& [name, text] : a_[a].attributes) compare(name);
    for (const auto& [name, text] : b_[b].attributes)
      if (a_.document().attribute(a, name) == nullptr) compare(name);
  }

  // True for attributes that the key stands for: the planner reads the same value if they differ in spelling.
  static bool isIdentity(const std::string& kind, const std::string& attribute) {
    return (kind == "pci" && attribute == "busid") || (attribute == "target" && kind.ends_with("link")) ||
           (kind == "net" && attribute == "name") || (kind == "cpu" && attribute == "host_hash");
  }

  void comparePlaces(topology::ElementId a, topology::ElementId b) {
    if (a == a_.document().root() || a_.key(a_[a].parent) == b_.key(b_[b].parent)) return;
    ++weight_;
    elements_.add({.kind = a_[a].name,
                   .what = "place",
                   .before = a_.ownKey(a_[a].parent),
                   .after = b_.ownKey(b_[b].parent)},
                  thing(a, b));
  }

  // Compares the order of those children that both documents have in this element.
  void compareOrder(topology::ElementId a, topology::ElementId b) {
    std::vector<std::string> inA = commonChildren(a_, a, b_, b_.key(b));
    std::vector<std::string> inB = commonChildren(b_, b, a_, a_.key(a));
    if (inA == inB) return;
    order_.add({.kind = a_[a].name,
                .what = "order inside",
                .before = shortList(namesOf(inA), kMaxChildrenListed),
                .after = shortList(namesOf(inB), kMaxChildrenListed)},
               thing(a, b));
  }

  static std::vector<std::string> commonChildren(const Elements& here, topology::ElementId parent,
                                                 const Elements& there, const std::string& parentThere) {
    std::vector<std::string> keys;
    for (topology::ElementId child : here[parent].children) {
      const topology::ElementId other = there.find(here.key(child));
      if (other != topology::kNoElement && there.key(there[other].parent) == parentThere)
        keys.push_back(here.key(child));
    }
    return keys;
  }

  static std::vector<std::string> namesOf(const std::vector<std::string>& keys) {
    std::vector<std::string> names;
    for (const std::string& key : keys) {
      const std::size_t blank = key.rfind(' ');
      names.push_back(key.starts_with("pci ") || key.starts_with("net ") || key.starts_with("nvlink ")
                          ? key.substr(blank + 1)
                          : key);
    }
    return names;
  }

  Elements a_, b_;
  ChangeList elements_, order_;
  int otherGuids_ = 0, weight_ = 0;
};

}  // namespace

DocumentDiff compareDocuments(const topology::Document& a, const topology::Document& b,
                              const std::string& where, const Renaming& names) {
  return Comparison(a, b, where, names).run();
}

}  // namespace xylem::diff
