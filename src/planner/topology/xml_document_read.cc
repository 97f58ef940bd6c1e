#include <cstdlib>

#include "planner/topology/xml_document.h"

namespace xylem {
namespace {

using tinyxml2::XMLElement;

// NCCL keeps this many attributes of an element and ignores the rest.
constexpr std::size_t kMaxAttributesKept = 16;

class Reader {
 public:
  Reader(Document& document, std::span<const XmlNesting> nestings, std::vector<std::string>* ignored)
      : document_(document), nestings_(nestings), ignored_(ignored) {}

  void readAttributes(const XMLElement& from, ElementId to) {
    std::size_t kept = 0;
    for (const auto* attribute = from.FirstAttribute(); attribute != nullptr; attribute = attribute->Next()) {
      if (++kept > kMaxAttributesKept)
        ignore("attribute", attribute->Name(), attribute->GetLineNum());
      else
        document_.set(to, attribute->Name(), attribute->Value());
    }
  }

  // Recursion is bounded by XmlLimits::depth.
  void readChildren(const XMLElement& from, ElementId to) {
    for (const auto* child = from.FirstChildElement(); child != nullptr;
         child = child->NextSiblingElement()) {
      if (!mayHold(from.Name(), child->Name())) {
        ignore("element", child->Name(), child->GetLineNum());
        continue;
      }
      const ElementId id = document_.add(to, child->Name(), child->GetLineNum());
      readAttributes(*child, id);
      readChildren(*child, id);
    }
  }

 private:
  bool mayHold(std::string_view parent, std::string_view child) const {
    for (const XmlNesting& nesting : nestings_)
      if (nesting.parent == parent && nesting.child == child) return true;
    return false;
  }

  void ignore(const char* what, const char* name, int line) {
    if (ignored_ == nullptr) return;
    ignored_->push_back(fmt::format("Ignoring {} {} ({})", what, name, toString({document_.file(), line})));
  }

  Document& document_;
  std::span<const XmlNesting> nestings_;
  std::vector<std::string>* ignored_;
};

const XMLElement& checkedRoot(const tinyxml2::XMLDocument& xml, const std::string& file,
                              const XmlVocabulary& vocabulary) {
  const XMLElement* root = xml.FirstChildElement();
  if (root == nullptr)
    throw InputError({file, 0}, "no element", fmt::format("the element {}", vocabulary.root));
  const SourceLocation where{file, root->GetLineNum()};
  if (std::string_view(root->Name()) != vocabulary.root)
    throw InputError(where, fmt::format("the element {} as the root", root->Name()),
                     fmt::format("`<{} version=\"1\">`: {}", vocabulary.root, vocabulary.what));
  if (const XMLElement* second = root->NextSiblingElement())
    throw InputError({file, second->GetLineNum()}, fmt::format("a second root element {}", second->Name()),
                     "one root element");
  const char* version = root->Attribute("version");
  if (version == nullptr)
    throw InputError(where, fmt::format("{} without `version`", vocabulary.root), "version=\"1\"");
  if (std::strtol(version, nullptr, 0) != 1)
    throw InputError(where, fmt::format("version=\"{}\"", version), "version=\"1\"");
  return *root;
}

}  // namespace

Document parseXmlDocument(std::string_view text, const std::string& file, const XmlVocabulary& vocabulary,
                          std::vector<std::string>* ignored) {
  tinyxml2::XMLDocument xml(/*processEntities=*/false);
  parseXml(xml, text, file, vocabulary.limits);
  const XMLElement& root = checkedRoot(xml, file, vocabulary);
  Document document(file, root.GetLineNum(), vocabulary.root);
  document.removeAttribute(document.root(), "version");  // comes back from the file, in the file's order
  Reader reader(document, vocabulary.nestings, ignored);
  reader.readAttributes(root, document.root());
  reader.readChildren(root, document.root());
  return document;
}

}  // namespace xylem
