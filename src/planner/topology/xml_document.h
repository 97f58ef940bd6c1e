#pragma once
// NCCL's XML files as Documents. Topology files and graph files share syntax, limits and the way they are
// written; what sets them apart is a vocabulary: the root, and which element may stand in which.
//
//   constexpr XmlNesting kNestings[] = {{"graphs", "graph"}, {"graph", "channel"}};
//   const XmlVocabulary vocabulary{"graphs", "a graph file", kNestings};
//   Document document = parseXmlDocument(text, "graph.xml", vocabulary);

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/topology/document.h"
#include "planner/topology/xml_text.h"

namespace xylem {

struct XmlNesting {
  std::string_view parent, child;
};

struct XmlVocabulary {
  const char* root;  // its `version` is 1
  const char* what;  // what messages call such a file, as in "a topology file"
  std::span<const XmlNesting> nestings;
  XmlLimits limits = {};
};

// Throws InputError with file and line on anything malformed: bad syntax, text between elements, another root
// or version, a broken limit. Elements and nestings outside of the vocabulary are left out with their
// subtree, and attributes after the sixteenth of an element; `ignored` names them, as in
// `Ignoring element disk (dgx.xml:12)`.
Document parseXmlDocument(std::string_view text, const std::string& file, const XmlVocabulary& vocabulary,
                          std::vector<std::string>* ignored = nullptr);

// The document in NCCL's dump format: two blanks of indentation per level, no XML header.
std::string writeXmlDocument(const Document& document);

}  // namespace xylem
