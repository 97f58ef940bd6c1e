#pragma once
// Reading XML that a person, or an attacker, wrote: from a path to a parsed tree, with clear refusals on the
// way.
//
//   const XmlLimits limits{.bytes = 1 << 20, .elements = 1000};
//   const std::string text = readXmlFile("graph.xml", "a graph file", limits);
//   tinyxml2::XMLDocument xml(false);   // false: entities are not decoded, as in NCCL
//   parseXml(xml, text, "graph.xml", limits);
//
// tinyxml2 knows the syntax; what it would accept but NCCL's dialect has not (text between elements, DOCTYPE,
// CDATA, single quotes, NUL bytes) and what would cost memory or time without bound is refused before it sees
// the text.

#include <tinyxml2.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace xylem {

struct XmlLimits {
  std::size_t bytes = 1u << 20;
  std::size_t elements = 4096;
  std::size_t attributesPerElement = 64;  // NCCL keeps 16; finding duplicates is quadratic in this
  std::size_t attributes = 16u * 4096;    // of all elements together
  std::size_t depth = 64;                 // the deepest machine known nests 12 elements; tinyxml2 recurses
  std::size_t nameLength = 255;           // as in NCCL
  std::size_t valueLength = 4096;         // NCCL: 255, too little for the affinity mask of a 1000-core host
};

// The bytes of the file. `what` says in messages what was expected there, as in "a topology XML file".
std::string readXmlFile(const std::string& path, const std::string& what, const XmlLimits& limits);

// Throws InputError with file and line. `file` is what messages call the text.
void parseXml(tinyxml2::XMLDocument& xml, std::string_view text, const std::string& file,
              const XmlLimits& limits);

}  // namespace xylem
