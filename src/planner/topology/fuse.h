#pragma once
// From the descriptions of a host's ranks to one description of the host.
//
//   for each rank: doc = detected machine; mark its own gpu and all nets keep="1"; trimToKept(doc, rules);
//   Document host = fuse({doc of local rank 0, doc of local rank 1, ...});
//
// Where a file describes the host instead, the same result follows from the file alone:
//
//   Document whole = readTopology("dgxh100.xml");
//   Document used = describeAsRanksWould(whole, std::vector{7, 5, 3, 1}, rules);   // rank 0 uses the gpu with dev 7
//   Document fused = describeAsRanksWould(whole, rules);                           // all GPUs, in rank order

#include <span>
#include <vector>

#include "planner/rules/changes.h"
#include "planner/topology/document.h"

namespace xylem::topology {

// Removes every pci and cpu element that holds nothing marked keep="1", and the marks themselves; by the rules of newer
// versions also every nic and net element.
void trimToKept(Document& document, const rules::RuleSet& rules);

// Merges descriptions in the order given: elements merge if name and all attributes are equal, others are
// appended.
Document fuse(const std::vector<Document>& documents);

// The host as its ranks would describe it together: every rank detects its own GPU and all network devices,
// and the descriptions are fused in the order of local ranks. Elements that no rank uses disappear, and GPUs
// of later ranks stand after those of earlier ones below the same parent; this order decides ties in a plan.
//
// `gpus[r]` is the `dev` of the GPU that local rank r uses; the result's `rank` attributes count 0, 1, …
// Missing attributes are completed first. Throws InputError for a number that no gpu has, an empty list, and, unless the rules let
// ranks share GPUs, for a number that stands twice in the list.
Document describeAsRanksWould(const Document& host, std::span<const int> gpus, const rules::RuleSet& rules);

// The same with every GPU that has a rank, in rank order; if none has one, with every GPU in document order.
Document describeAsRanksWould(const Document& host, const rules::RuleSet& rules);

}  // namespace xylem::topology
