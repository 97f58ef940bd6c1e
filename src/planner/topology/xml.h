#pragma once
// The reader and writer of NCCL's XML: topology files, graph files, and any XML for the linter.
//
//   constexpr XmlNesting kNestings[] = {{"graphs", "graph"}, {"graph", "channel"}};
//   constexpr XmlVocabulary kVocabulary{"graphs", "a graph file", kNestings, {.elements = 1000}};
//   const std::string text = readFile("graph.xml", "a graph file", kVocabulary.limits.bytes);
//   const Document document = parseXmlDocument(text, "graph.xml", kVocabulary);
//
// NCCL's dialect has elements, attributes in quotes, comments, and declarations at the start. A file
// may come from an attacker. So a scan refuses text outside of this dialect, and text that would cost memory
// or time without bound, before tinyxml2 parses it. Every refusal is an InputError with file and line.
// Entities are not decoded, as in NCCL.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "planner/topology/document.h"

namespace xylem::topology {

struct XmlLimits {
  std::size_t bytes = 1u << 20;
  std::size_t elements = 4096;            // comments count as elements
  std::size_t attributesPerElement = 64;  // NCCL keeps 16; finding duplicates is quadratic in this
  std::size_t attributes = 16u * 4096;    // of all elements together
  std::size_t depth = 64;                 // the deepest machine known nests 12 elements; readers recurse
  std::size_t nameLength = 255;           // as in NCCL
  std::size_t valueLength = 4096;         // NCCL: 255, too little for the affinity mask of a 1000-core host
};

struct XmlNesting {
  std::string_view parent, child;
};

// The difference between one kind of file and another: the root and which element may stand in which.
struct XmlVocabulary {
  const char* root;  // its `version` is 1
  const char* what;  // the kind of file in messages, as in "a topology file"
  std::span<const XmlNesting> nestings;
  XmlLimits limits = {};
};

// Reads the elements of a vocabulary. `file` is the name of the text in messages. Throws InputError for bad
// syntax, text between elements, another root or version, or a broken limit. Leaves out elements and nestings
// outside of the vocabulary with their subtrees, and an element's attributes after the sixteenth; `ignored`
// names them, as in `Ignoring element disk (dgx.xml:12)`.
Document parseXmlDocument(std::string_view text, const std::string& file, const XmlVocabulary& vocabulary,
                          std::vector<std::string>* ignored = nullptr);

struct AnyXml {
  std::optional<Document> document;   // none if the text cannot be parsed
  std::optional<InputError> refusal;  // the first error, if there is one
};

// Reads all elements and attributes, whatever their names, for the linter. If the scan refuses a text of at
// most 128 KiB (longer ones could cost any amount of memory) and tinyxml2 still can parse it, `document`
// holds the elements as well.
AnyXml parseAnyXml(std::string_view text, const std::string& file, const XmlLimits& limits);

// The document in NCCL's dump format: two blanks of indentation per level, no XML header.
std::string writeXmlDocument(const Document& document);

}  // namespace xylem::topology
