// Names, nesting, attributes and the form of their values.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/edit_distance.h"
#include "insight/lint/checks.h"
#include "insight/lint/vocabulary.h"
#include "planner/topology/attributes.h"

namespace xylem {
namespace {

// NCCL's own limits, at which it drops what follows or refuses the file.
constexpr std::size_t kMostAttributes = 16;
constexpr std::size_t kMostChildren = 128;
constexpr std::size_t kMostOfValue = 255;
constexpr std::size_t kShownCharacters = 40;

std::string shown(std::string_view value) {
  return value.size() > kShownCharacters ? std::string(value.substr(0, kShownCharacters)) + "…"
                                         : std::string(value);
}

std::string orNearest(const std::string& fix, const std::string& word,
                      const std::vector<std::string>& words) {
  const std::string nearest = nearestWord(word, words);
  return nearest.empty() ? fix : fmt::format("{}; or did you mean {}?", fix, nearest);
}

class Schema {
 public:
  Schema(const Document& document, Findings& findings) : document_(document), findings_(findings) {}

  bool check() {
    const Element& root = document_[document_.root()];
    if (root.name == "graphs") {
      add(Severity::kError, "graph-file", document_.root(),
          "a graph file: the channels of a host, not the host",
          "give NCCL_TOPO_FILE the machine, and NCCL_GRAPH_FILE this file");
      return false;
    }
    if (root.name != "system") {
      add(Severity::kError, "root", document_.root(), fmt::format("the element {} as the root", root.name),
          "write <system version=\"1\"> around the cpu elements");
      return false;
    }
    checkAttributes(document_.root());
    checkInside(document_.root());
    return true;
  }

 private:
  void add(Severity severity, const char* rule, ElementId at, std::string found, std::string fix) {
    findings_.add(severity, rule, document_[at].line, std::move(found), std::move(fix));
  }

  void checkInside(ElementId parent) {
    const auto& children = document_[parent].children;
    if (children.size() > kMostChildren)
      add(Severity::kWarning, "too-many-children", parent,
          fmt::format("{} elements in one {}: NCCL stops at {}", children.size(), document_[parent].name,
                      kMostChildren),
          "describe fewer of them");
    for (const ElementId child : children) {
      if (!checkPlace(parent, child)) continue;
      checkAttributes(child);
      checkInside(child);
    }
  }

  // False if the element is left out with all it holds.
  bool checkPlace(ElementId parent, ElementId child) {
    const Element& element = document_[child];
    const ElementRule* rule = elementRule(element.name);
    if (rule == nullptr) {
      std::vector<std::string> names;
      for (const ElementRule& known : elementRules()) names.emplace_back(known.name);
      add(Severity::kWarning, "unknown-element", child,
          fmt::format("the element {}: it is left out, with all it holds", shown(element.name)),
          orNearest("remove it", element.name, names));
      return false;
    }
    const std::string& inside = document_[parent].name;
    if (inside == rule->parents[0] || inside == rule->parents[1]) return true;
    std::string fix = fmt::format("put it into a {}", rule->parents[0]);
    if (!rule->parents[1].empty()) fix += fmt::format(" or a {}", rule->parents[1]);
    if (element.name == "gpu") fix += " of its own: <pci busid=\"…\" class=\"0x030200\">";
    add(Severity::kError, "misplaced-element", child,
        fmt::format("{} directly in {}: it is left out, with all it holds", element.name, inside), fix);
    return false;
  }

  void checkAttributes(ElementId element) {
    const Element& e = document_[element];
    std::size_t count = 0;
    for (const auto& [key, value] : e.attributes) {
      if (++count > kMostAttributes)
        add(Severity::kWarning, "too-many-attributes", element,
            fmt::format("the attribute {} after {} others: it is left out", shown(key), kMostAttributes),
            "remove what is not needed");
      if (value.size() > kMostOfValue)
        add(Severity::kWarning, "long-value", element,
            fmt::format("{} of {} characters: NCCL stops at {}", shown(key), value.size(), kMostOfValue),
            "write a shorter one");
      checkAttribute(element, key, value);
    }
    for (const AttributeRule& rule : attributeRules())
      if (rule.element == e.name && rule.needed && document_.attribute(element, rule.name) == nullptr)
        addMissing(element, rule);
  }

  void addMissing(ElementId element, const AttributeRule& rule) {
    std::string found = fmt::format("{} without `{}`", document_[element].name, rule.name);
    if (rule.element == "cpu" && rule.name == "arch")
      found += ": NCCL says \"Attribute arch of node cpu not found\" and ends";
    add(Severity::kError, "missing-attribute", element, found, fmt::format("write {}", rule.example));
  }

  void checkAttribute(ElementId element, const std::string& key, const std::string& value) {
    const std::string& name = document_[element].name;
    const AttributeRule* rule = attributeRule(name, key);
    if (rule == nullptr) {
      std::vector<std::string> names;
      for (const AttributeRule& known : attributeRules())
        if (known.element == name) names.emplace_back(known.name);
      add(Severity::kWarning, "unknown-attribute", element,
          fmt::format("the attribute {} of a {}: nothing reads it", shown(key), name),
          orNearest("remove it", key, names));
      return;
    }
    if (!isWellFormed(*rule, value))
      add(Severity::kError, "bad-value", element, fmt::format("{} with {}=\"{}\"", name, key, shown(value)),
          fmt::format("write {}", rule->example));
  }

  static bool isWellFormed(const AttributeRule& rule, const std::string& value) {
    char* end = nullptr;
    switch (rule.form) {
      case ValueForm::kText:
        return true;
      case ValueForm::kBusId:
        return parseBusId(value).has_value();
      case ValueForm::kHex:
        if (value.empty()) return true;
        std::strtoull(value.c_str(), &end, 16);
        return end != value.c_str();
      case ValueForm::kNumber: {
        const float number = std::strtof(value.c_str(), &end);
        return end != value.c_str() && std::isfinite(number) && number >= 0;
      }
      case ValueForm::kInteger:
      case ValueForm::kFlag: {
        if (value.empty()) return true;  // counts as 0
        const long long number = std::strtoll(value.c_str(), &end, 0);
        return end != value.c_str() && number >= rule.least && number <= rule.most;
      }
    }
    return true;
  }

  const Document& document_;
  Findings& findings_;
};

}  // namespace

bool checkSchema(const Document& document, Findings& findings) { return Schema(document, findings).check(); }

}  // namespace xylem
