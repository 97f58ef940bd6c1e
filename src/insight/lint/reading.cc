#include <tinyxml2.h>

#include <cerrno>
#include <cstdlib>

#include "core/error.h"
#include "insight/lint/checks.h"
#include "planner/topology/xml_text.h"

namespace xylem {
namespace {

using tinyxml2::XMLElement;

constexpr XmlLimits kLimits{
    .bytes = kMaxTopologyBytes, .elements = kMaxElements, .attributes = kMaxAttributes};
// Of text that the readers refuse, so much is parsed nevertheless; nothing bounds its elements.
constexpr std::size_t kMostOfRefused = 1u << 17;

void copy(const XMLElement& from, Document& document, ElementId to) {
  for (const auto* a = from.FirstAttribute(); a != nullptr; a = a->Next())
    document.set(to, a->Name(), a->Value());
  for (const auto* child = from.FirstChildElement(); child != nullptr; child = child->NextSiblingElement())
    copy(*child, document, document.add(to, child->Name(), child->GetLineNum()));
}

// "found …; expected …" of what an InputError says, without the place.
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

std::optional<Document> readAnyXml(std::string_view text, const std::string& file, Findings& findings) {
  tinyxml2::XMLDocument xml(/*processEntities=*/false);
  try {
    parseXml(xml, text, file, kLimits);
  } catch (const InputError& error) {
    addRefusal(error, findings);
    if (text.size() > kMostOfRefused) return std::nullopt;
    xml.Parse(text.data(), text.size());  // what stands before an error stays
  }
  const XMLElement* root = xml.FirstChildElement();
  if (root == nullptr) return std::nullopt;
  Document document(file, root->GetLineNum(), root->Name());
  document.removeAttribute(document.root(), "version");
  copy(*root, document, document.root());
  return document;
}

std::vector<ElementId> elementsCalled(const Document& document, std::string_view name) {
  std::vector<ElementId> found;
  const auto visit = [&](const auto& self, ElementId element) -> void {
    for (const ElementId child : document[element].children) {
      if (document[child].name == name) found.push_back(child);
      self(self, child);
    }
  };
  visit(visit, document.root());
  return found;
}

ElementId holderOf(const Document& document, ElementId element, std::string_view name) {
  for (element = document[element].parent; element != kNoElement; element = document[element].parent)
    if (document[element].name == name) return element;
  return kNoElement;
}

std::optional<std::int64_t> numberOf(const Document& document, ElementId element, std::string_view name) {
  const std::string* text = document.attribute(element, name);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text->c_str(), &end, 0);
  if (end == text->c_str() || errno == ERANGE) return std::nullopt;
  return value;
}

std::string textOf(const Document& document, ElementId element, std::string_view name) {
  const std::string* text = document.attribute(element, name);
  return text == nullptr ? "" : *text;
}

}  // namespace xylem
