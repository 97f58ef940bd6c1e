#pragma once
// Bandwidths that a description, or a person, gives a link in place of NCCL's rule. The attribute `bw`, in GB/s (1e9 bytes
// per second), means on
//
//   cpu      each link from this CPU to another one of its host
//   pci      the link of the device to what holds it, both ways
//   nvlink   all its links together
//
// NCCL itself knows none of them (`c2c` has a `bw` of NCCL's, in MB/s): a plan with an override is what NCCL would do if its
// rule knew the machine. A graph file makes NCCL do it (xylem optimize).
//
//   overrideLink(document, "CPU-CPU=32", {"--link", 0});
//   for (const std::string& text : overrideTexts(document, rules)) ...   // "32 GB/s between CPUs instead of 16 ..."

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "planner/rules/changes.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// Reads `CPU-CPU=32`, for all CPUs, or `0000:1b:00.0=50`, for the link of a device, and sets `bw`. Throws InputError for any
// other text, with `where` as its place.
void overrideLink(Document& document, std::string_view text, const SourceLocation& where);

// A line for each override that the document holds, with the rule's value and the place. Overrides that are alike are one
// line. Throws InputError as buildSystem does.
std::vector<std::string> overrideTexts(const Document& document,
                                       const std::shared_ptr<const rules::RuleSet>& rules);

}  // namespace xylem::topology
