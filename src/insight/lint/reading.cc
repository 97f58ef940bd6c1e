// Reads a file as elements with less regard to the rules than the planner's readers have, and what the checks
// look up in them.
#include <cerrno>
#include <cstdlib>

#include "insight/lint/checks.h"
#include "planner/topology/xml.h"

namespace xylem::lint {
namespace {

constexpr topology::XmlLimits kLimits{.bytes = topology::kMaxTopologyBytes,
                                      .elements = topology::kMaxElements,
                                      .attributes = topology::kMaxAttributes};
}  // namespace

std::optional<topology::Document> readAnyXml(std::string_view text, const std::string& file,
                                             Findings& findings) {
  topology::AnyXml xml = topology::parseAnyXml(text, file, kLimits);
  if (xml.refusal) findings.add("xml", *xml.refusal);
  return std::move(xml.document);
}

std::vector<topology::ElementId> elementsCalled(const topology::Document& document, std::string_view name) {
  std::vector<topology::ElementId> found;
  const auto visit = [&](const auto& self, topology::ElementId element) -> void {
    for (const topology::ElementId child : document[element].children) {
      if (document[child].name == name) found.push_back(child);
      self(self, child);
    }
  };
  visit(visit, document.root());
  return found;
}

topology::ElementId holderOf(const topology::Document& document, topology::ElementId element,
                             std::string_view name) {
  for (element = document[element].parent; element != topology::kNoElement;
       element = document[element].parent)
    if (document[element].name == name) return element;
  return topology::kNoElement;
}

std::optional<std::int64_t> numberOf(const topology::Document& document, topology::ElementId element,
                                     std::string_view name) {
  const std::string* text = document.attribute(element, name);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text->c_str(), &end, 0);
  if (end == text->c_str() || errno == ERANGE) return std::nullopt;
  return value;
}

bool isPart(const topology::Document& document, topology::ElementId gpu, const rules::RuleSet& rules) {
  return rules.splitGpus && numberOf(document, gpu, "mlopart").value_or(-1) >= 0;
}

}  // namespace xylem::lint
