#include "insight/why/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/topology/attributes.h"

namespace xylem {
namespace {

// Of an element those attributes that the planner's rules look at.
constexpr const char* kTelling[] = {"numaid", "vendor", "busid", "dev",    "name",       "sm",        "speed",
                                    "gdr",    "bw",     "count", "target", "link_speed", "link_width"};

AnswerSource sourceOfElement(const Document& document, ElementId id) {
  if (id == kNoElement) return {document.file(), 0, ""};
  const Element& element = document[id];
  std::string text = "<" + element.name;
  for (const auto& [key, value] : element.attributes)
    if (std::find(std::begin(kTelling), std::end(kTelling), key) != std::end(kTelling) && !value.empty())
      text += fmt::format(" {}=\"{}\"", key, value);
  return {document.file(), element.line, text + ">"};
}

int depth(const Document& document, ElementId id) {
  int levels = 0;
  for (; id != kNoElement; id = document[id].parent) ++levels;
  return levels;
}

// The pci element of the device below: its lanes make the link.
ElementId pciElement(const Document& document, ElementId a, ElementId b) {
  const ElementId lower = depth(document, a) > depth(document, b) ? a : b;
  const ElementId parent = document[lower].parent;
  return document[lower].name == "pci" || parent == kNoElement || document[parent].name != "pci" ? lower
                                                                                                 : parent;
}

// The nvlink or c2c element of a GPU that leads to the other end.
ElementId nvlinkElement(const Document& document, const System& system, NodeId gpu, NodeId other) {
  const ElementId element = system[gpu].element;
  for (const ElementId child : document[element].children) {
    if (document[child].name == "c2c" && system.type(other) == NodeType::kCpu) return child;
    const std::string* target = document.attribute(child, "target");
    const std::string* code = document.attribute(child, "tclass");
    if (document[child].name != "nvlink" || target == nullptr || code == nullptr) continue;
    switch (system.type(other)) {
      case NodeType::kGpu:
        if (parseBusId(*target) == system[other].key.local()) return child;
        break;
      case NodeType::kCpu:
        if (pciClass(*code) == PciClass::kCpu) return child;
        break;
      default:
        if (pciClass(*code) != PciClass::kCpu && pciClass(*code) != PciClass::kGpu) return child;
    }
  }
  return element;
}

}  // namespace

AnswerSource sourceOf(const HostPlan& host, NodeId node) {
  return sourceOfElement(*host.description, host.system()[node].element);
}

AnswerSource sourceOfLink(const HostPlan& host, LinkId id) {
  const System& system = host.system();
  const Document& document = *host.description;
  const Link& link = system.link(id);
  const ElementId from = system[link.from].element;
  const ElementId to = system[link.to].element;
  if (from == kNoElement || to == kNoElement)
    return sourceOfElement(document, from == kNoElement ? to : from);
  switch (link.type) {
    case LinkType::kPci:
      return sourceOfElement(document, pciElement(document, from, to));
    case LinkType::kNet:
      return sourceOfElement(document, system.type(link.to) == NodeType::kNet ? to : from);
    case LinkType::kNvl:
      if (system.type(link.from) == NodeType::kGpu)
        return sourceOfElement(document, nvlinkElement(document, system, link.from, link.to));
      return sourceOfElement(document, nvlinkElement(document, system, link.to, link.from));
    default:
      return sourceOfElement(document, from);
  }
}

}  // namespace xylem
