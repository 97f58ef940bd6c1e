#include "planner/topology/fuse.h"

#include <algorithm>
#include <unordered_map>

namespace xylem {
namespace {

// Whether `id` is kept. Recursion is as deep as the document (XmlLimits::depth of its reader).
bool trim(Document& document, ElementId id) {
  const std::string* keep = document.attribute(id, "keep");
  if (keep != nullptr && *keep == "1") {
    document.removeAttribute(id, "keep");
    return true;
  }
  const std::vector<ElementId> children = document[id].children;  // a copy: the walk changes the original
  std::vector<ElementId> leaving;
  bool anyKept = false;
  for (const ElementId child : children) {
    const bool kept = trim(document, child);
    anyKept = anyKept || kept;
    const std::string& name = document[child].name;
    if (!kept && (name == "pci" || name == "cpu")) leaving.push_back(child);
  }
  document.detachChildren(id, leaving);
  return anyKept;
}

void copyAttributes(const Document& from, ElementId source, Document& to, ElementId target) {
  for (const auto& [key, value] : from[source].attributes) to.set(target, key, value);
}

void appendCopy(const Document& from, ElementId source, Document& to, ElementId parent) {
  const ElementId copy = to.add(parent, from[source].name, from[source].line);
  copyAttributes(from, source, to, copy);
  for (const ElementId child : from[source].children) appendCopy(from, child, to, copy);
}

// Equal for elements that merge: same name, both or neither with children, same attributes in whatever order.
std::string identity(const Element& element) {
  auto attributes = element.attributes;
  std::sort(attributes.begin(), attributes.end());
  std::string text = element.name + (element.children.empty() ? '/' : '>');
  for (const auto& [key, value] : attributes) {  // neither holds a NUL
    text.append(1, '\0').append(key);
    text.append(1, '\0').append(value);
  }
  return text;
}

void merge(const Document& from, ElementId source, Document& to, ElementId target) {
  std::unordered_map<std::string, ElementId> present;
  for (const ElementId child : to[target].children)
    present.emplace(identity(to[child]), child);  // the first wins
  for (const ElementId child : from[source].children) {
    std::string key = identity(from[child]);
    if (const auto same = present.find(key); same != present.end()) {
      merge(from, child, to, same->second);
    } else {
      appendCopy(from, child, to, target);
      present.emplace(std::move(key), to[target].children.back());
    }
  }
}

}  // namespace

void trimToKept(Document& document) { trim(document, document.root()); }

Document fuse(const std::vector<Document>& documents) {
  if (documents.empty()) return Document();
  const Document& first = documents.front();
  Document fused(first.file(), first[first.root()].line);
  fused.removeAttribute(fused.root(), "version");
  copyAttributes(first, first.root(), fused, fused.root());
  for (const ElementId child : first[first.root()].children) appendCopy(first, child, fused, fused.root());
  for (auto next = documents.begin() + 1; next != documents.end(); ++next)
    merge(*next, next->root(), fused, fused.root());
  return fused;
}

}  // namespace xylem
