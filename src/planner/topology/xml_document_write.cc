#include <algorithm>
#include <iterator>

#include "planner/topology/xml_document.h"

namespace xylem {
namespace {

// NCCL's format has no way to write a double quote inside a value.
std::string printable(std::string value) {
  std::replace(value.begin(), value.end(), '"', '\'');
  return value;
}

void write(const Document& document, ElementId id, std::size_t depth, std::string& out) {
  const Element& element = document[id];
  const std::string indentation(2 * depth, ' ');
  fmt::format_to(std::back_inserter(out), "{}<{}", indentation, element.name);
  for (const auto& [key, value] : element.attributes)
    fmt::format_to(std::back_inserter(out), " {}=\"{}\"", key, printable(value));
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const ElementId child : element.children) write(document, child, depth + 1, out);
  fmt::format_to(std::back_inserter(out), "{}</{}>\n", indentation, element.name);
}

}  // namespace

std::string writeXmlDocument(const Document& document) {
  std::string out;
  write(document, document.root(), 0, out);
  return out;
}

}  // namespace xylem
