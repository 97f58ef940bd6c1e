#include <cstdlib>

#include "topology/document.h"
#include "topology/xml_text.h"

namespace xylem {
namespace {

using tinyxml2::XMLElement;

// NCCL keeps this many attributes of an element and ignores the rest.
constexpr std::size_t kMaxAttributesKept = 16;

constexpr XmlLimits kLimits{
    .bytes = kMaxTopologyBytes, .elements = kMaxElements, .attributes = kMaxAttributes};

struct Nesting {
  std::string_view parent, child;
};
constexpr Nesting kNestings[] = {
    {"system", "cpu"}, {"cpu", "pci"},     {"cpu", "nic"}, {"pci", "pci"},    {"pci", "gpu"},
    {"pci", "nic"},    {"pci", "pcilink"}, {"nic", "net"}, {"gpu", "nvlink"}, {"gpu", "c2c"},
};

bool mayHold(std::string_view parent, std::string_view child) {
  for (const Nesting& nesting : kNestings)
    if (nesting.parent == parent && nesting.child == child) return true;
  return false;
}

class Reader {
 public:
  Reader(Document& document, std::vector<std::string>* ignored) : document_(document), ignored_(ignored) {}

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
  void ignore(const char* what, const char* name, int line) {
    if (ignored_ == nullptr) return;
    ignored_->push_back(fmt::format("Ignoring {} {} ({})", what, name, toString({document_.file(), line})));
  }

  Document& document_;
  std::vector<std::string>* ignored_;
};

const XMLElement& checkedRoot(const tinyxml2::XMLDocument& xml, const std::string& file) {
  const XMLElement* root = xml.FirstChildElement();
  if (root == nullptr) throw InputError({file, 0}, "no element", "the element system");
  const SourceLocation where{file, root->GetLineNum()};
  if (std::string_view(root->Name()) != "system")
    throw InputError(where, fmt::format("the element {} as the root", root->Name()),
                     "`<system version=\"1\">`: a topology file");
  if (const XMLElement* second = root->NextSiblingElement())
    throw InputError({file, second->GetLineNum()}, fmt::format("a second root element {}", second->Name()),
                     "one root element");
  const char* version = root->Attribute("version");
  if (version == nullptr) throw InputError(where, "system without `version`", "version=\"1\"");
  if (std::strtol(version, nullptr, 0) != 1)
    throw InputError(where, fmt::format("version=\"{}\"", version), "version=\"1\"");
  return *root;
}

}  // namespace

Document parseTopology(std::string_view text, const std::string& file, std::vector<std::string>* ignored) {
  tinyxml2::XMLDocument xml(/*processEntities=*/false);
  parseXml(xml, text, file, kLimits);
  const XMLElement& root = checkedRoot(xml, file);
  Document document(file, root.GetLineNum());
  document.removeAttribute(document.root(), "version");  // comes back from the file, in the file's order
  Reader reader(document, ignored);
  reader.readAttributes(root, document.root());
  reader.readChildren(root, document.root());
  return document;
}

Document readTopology(const std::string& path, std::vector<std::string>* ignored) {
  return parseTopology(readXmlFile(path, "a topology XML file", kLimits), path, ignored);
}

}  // namespace xylem
