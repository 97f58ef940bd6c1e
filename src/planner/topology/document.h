#pragma once
// The description of a machine, NCCL's topology XML, as a value: elements with attributes, in document order,
// each with its line in the file.
//
//   Document doc = readTopology("topologies/dgxh100.xml");
//   for (ElementId cpu : doc[doc.root()].children) ... doc.attribute(cpu, "numaid") ...
//
// Elements refer to each other by index, so copying a Document copies the tree. Reading checks syntax,
// nesting and limits alone; the code that uses an attribute checks its value (attributes.h,
// system_builder.cc).

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace xylem::topology {

using ElementId = std::int32_t;
constexpr ElementId kNoElement = -1;

// Limits of a topology file: they bound time and memory (to about 500 MB) for hostile files. NCCL stops at
// 256 elements per rank. A host of 8 GPUs has about 100 elements and 12 kB.
constexpr std::size_t kMaxElements = 200'000;
constexpr std::size_t kMaxAttributes = 8 * kMaxElements;
constexpr std::size_t kMaxTopologyBytes = 32u << 20;

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // in file order
  std::vector<ElementId> children;                              // in file order
  ElementId parent = kNoElement;
  int line = 0;  // 0 for elements that did not come from a file
};

class Document {
 public:
  // A document of the root alone: `system version="1"`. `file` is the document's name in messages.
  explicit Document(std::string file = "(detected)", int rootLine = 0, const char* root = "system");

  const std::string& file() const { return file_; }
  ElementId root() const { return 0; }
  std::size_t size() const { return elements_.size(); }
  const Element& operator[](ElementId id) const { return elements_[static_cast<std::size_t>(id)]; }
  SourceLocation location(ElementId id) const { return {file_, (*this)[id].line}; }

  // The attribute's value, or null if it is absent.
  const std::string* attribute(ElementId id, std::string_view name) const;
  // The attribute's value; empty if it is absent.
  std::string text(ElementId id, std::string_view name) const;
  // The first child called `name`, or kNoElement.
  ElementId child(ElementId id, std::string_view name) const;
  // The first child called `name` whose attribute `key` equals `value`, or kNoElement.
  ElementId child(ElementId id, std::string_view name, std::string_view key, std::string_view value) const;

  // Adds a child: at `position` among the siblings, or as the last one if there are fewer.
  ElementId add(ElementId parent, std::string name, int line = 0, std::size_t position = SIZE_MAX);
  // Replaces the attribute's value, or appends it.
  void set(ElementId id, std::string_view name, std::string value);
  // Appends the attribute if it is absent.
  void setIfAbsent(ElementId id, std::string_view name, std::string value);
  void removeAttribute(ElementId id, std::string_view name);
  // Takes `id` out of its parent's children. The element stays in the table, unreachable.
  void detach(ElementId id);
  // Detaches some children of `id` at once, in linear time.
  void detachChildren(ElementId id, const std::vector<ElementId>& leaving);

 private:
  Element& at(ElementId id) { return elements_[static_cast<std::size_t>(id)]; }

  std::string file_;
  std::vector<Element> elements_;
};

// Reads NCCL's topology XML as parseXmlDocument (xml.h) does: throws InputError with file and line for
// anything malformed, and leaves out elements that NCCL does not know; `ignored` names these.
Document parseTopology(std::string_view text, const std::string& file,
                       std::vector<std::string>* ignored = nullptr);
Document readTopology(const std::string& path, std::vector<std::string>* ignored = nullptr);

// The document in NCCL's dump format (writeXmlDocument).
std::string writeTopology(const Document& document);

}  // namespace xylem::topology
