#include "planner/topology/document.h"

#include <algorithm>
#include <iterator>

#include "core/text_file.h"
#include "planner/topology/xml.h"

namespace xylem::topology {
namespace {

auto findAttribute(const Element& element, std::string_view name) {
  return std::find_if(element.attributes.begin(), element.attributes.end(),
                      [&](const auto& attribute) { return attribute.first == name; });
}

// The vocabulary of NCCL's topology XML: which element may stand in which.
constexpr XmlNesting kNestings[] = {
    {"system", "cpu"}, {"cpu", "pci"},     {"cpu", "nic"}, {"pci", "pci"},    {"pci", "gpu"},
    {"pci", "nic"},    {"pci", "pcilink"}, {"nic", "net"}, {"gpu", "nvlink"}, {"gpu", "c2c"},
};

constexpr XmlVocabulary kVocabulary{
    "system",
    "a topology file",
    kNestings,
    {.bytes = kMaxTopologyBytes, .elements = kMaxElements, .attributes = kMaxAttributes}};

}  // namespace

Document::Document(std::string file, int rootLine, const char* root) : file_(std::move(file)) {
  Element element;
  element.name = root;
  element.attributes.emplace_back("version", "1");
  element.line = rootLine;
  elements_.push_back(std::move(element));
}

const std::string* Document::attribute(ElementId id, std::string_view name) const {
  const Element& element = (*this)[id];
  const auto found = findAttribute(element, name);
  return found == element.attributes.end() ? nullptr : &found->second;
}

std::string Document::text(ElementId id, std::string_view name) const {
  const std::string* value = attribute(id, name);
  return value == nullptr ? "" : *value;
}

ElementId Document::child(ElementId id, std::string_view name) const {
  for (const ElementId child : (*this)[id].children)
    if ((*this)[child].name == name) return child;
  return kNoElement;
}

ElementId Document::child(ElementId id, std::string_view name, std::string_view key,
                          std::string_view value) const {
  for (const ElementId child : (*this)[id].children) {
    if ((*this)[child].name != name) continue;
    const std::string* found = attribute(child, key);
    if (found != nullptr && *found == value) return child;
  }
  return kNoElement;
}

ElementId Document::add(ElementId parent, std::string name, int line, std::size_t position) {
  const auto id = static_cast<ElementId>(elements_.size());
  Element element;
  element.name = std::move(name);
  element.parent = parent;
  element.line = line;
  elements_.push_back(std::move(element));
  std::vector<ElementId>& siblings = at(parent).children;
  const std::size_t place = std::min(position, siblings.size());
  siblings.insert(siblings.begin() + static_cast<std::ptrdiff_t>(place), id);
  return id;
}

void Document::set(ElementId id, std::string_view name, std::string value) {
  auto& attributes = at(id).attributes;
  for (auto& [key, old] : attributes) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  attributes.emplace_back(name, std::move(value));
}

void Document::setIfAbsent(ElementId id, std::string_view name, std::string value) {
  if (attribute(id, name) == nullptr) set(id, name, std::move(value));
}

void Document::removeAttribute(ElementId id, std::string_view name) {
  std::erase_if(at(id).attributes, [&](const auto& attribute) { return attribute.first == name; });
}

void Document::detach(ElementId id) {
  Element& element = at(id);
  if (element.parent == kNoElement) return;
  std::erase(at(element.parent).children, id);
  element.parent = kNoElement;
}

void Document::detachChildren(ElementId id, const std::vector<ElementId>& leaving) {
  for (const ElementId child : leaving) at(child).parent = kNoElement;
  std::erase_if(at(id).children, [&](ElementId child) { return at(child).parent == kNoElement; });
}

Document parseTopology(std::string_view text, const std::string& file, std::vector<std::string>* ignored) {
  return parseXmlDocument(text, file, kVocabulary, ignored);
}

Document readTopology(const std::string& path, std::vector<std::string>* ignored) {
  return parseTopology(readFile(path, "a topology XML file", kVocabulary.limits.bytes), path, ignored);
}

std::string writeTopology(const Document& document) { return writeXmlDocument(document); }

}  // namespace xylem::topology
