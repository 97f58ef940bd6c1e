#pragma once
// The checks of lint, by what they look at. Each takes the elements as they stand in the file, known or not.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "insight/lint/finding.h"
#include "planner/topology/document.h"

namespace xylem {

// The text as elements, without regard to what they are called; syntax that readers refuse is a finding.
// Nothing if it is not XML at all.
std::optional<Document> readAnyXml(std::string_view text, const std::string& file, Findings& findings);

// Root, element names, nesting, attributes and the form of their values. False if the file is no topology
// file, so that nothing more can be said.
bool checkSchema(const Document& document, Findings& findings);

// Switches, cards, PCI links, bus ids.
void checkPci(const Document& document, Findings& findings);

// CPUs, GPUs and network devices: numbers, NUMA nodes, GPU Direct RDMA, who is near whom.
void checkDevices(const Document& document, Findings& findings);

// NVLinks and what else refers to another element.
void checkLinks(const Document& document, Findings& findings);

// All elements below the root called `name`, in document order.
std::vector<ElementId> elementsCalled(const Document& document, std::string_view name);
// The nearest element called `name` that holds `element`, or kNoElement.
ElementId holderOf(const Document& document, ElementId element, std::string_view name);
// The attribute as an integer in C syntax; nothing if it is absent or no number.
std::optional<std::int64_t> numberOf(const Document& document, ElementId element, std::string_view name);
// The attribute, or "" if it is absent.
std::string textOf(const Document& document, ElementId element, std::string_view name);

}  // namespace xylem
