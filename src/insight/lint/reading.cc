// Reads a file as elements with less regard to the rules than the planner's readers have, and what the checks
// look up in them.
#include <cerrno>
#include <cstdlib>

#include "core/error.h"
#include "insight/lint/checks.h"
#include "planner/topology/xml.h"

namespace xylem::lint {
namespace {

constexpr topology::XmlLimits kLimits{.bytes = topology::kMaxTopologyBytes,
                                      .elements = topology::kMaxElements,
                                      .attributes = topology::kMaxAttributes};
// Adds the error as a finding. Its message has the form "PLACE: found …; expected …".
void addRefusal(const InputError& error, Findings& findings) {
  const std::string text = error.what();
  const std::string place = toString(error.location()) + ": found ";
  const std::string middle = "; expected ";
  std::string found = text.starts_with(place) ? text.substr(place.size()) : text;
  std::string fix;
  if (const std::size_t at = found.find(middle); at != std::string::npos) {
    fix = "write " + found.substr(at + middle.size());
    found.resize(at);
  }
  findings.add(Severity::kError, "xml", error.location().line, found, fix);
}

}  // namespace

std::optional<topology::Document> readAnyXml(std::string_view text, const std::string& file,
                                             Findings& findings) {
  topology::AnyXml xml = topology::parseAnyXml(text, file, kLimits);
  if (xml.refusal) addRefusal(*xml.refusal, findings);
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

std::string textOf(const topology::Document& document, topology::ElementId element, std::string_view name) {
  const std::string* text = document.attribute(element, name);
  return text == nullptr ? "" : *text;
}

}  // namespace xylem::lint
