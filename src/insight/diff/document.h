#pragma once
// The difference of two topology files, element by element, with line numbers. Elements are matched by what
// they are: a pci by its bus id, a cpu by its NUMA id, a net by its name, an nvlink by its two ends.
//
//   DocumentDiff diff = compareDocuments(readTopology("before.xml"), readTopology("after.xml"));
//   diff.elements[0]   ->  kind "nvlink", what "count", before "12", after "4",
//                          things {"0000:07:00.0 to fffffff:ffff:ff", lines 7 and 7}
//
// An element that moved, appeared or disappeared is one change, with all that it holds.

#include <string>

#include "insight/diff/diff.h"
#include "planner/topology/document.h"

namespace xylem::diff {

struct DocumentDiff {
  Changes elements;
  Changes order;  // children that both files have, in another order
};

// `where`: as in Change.
DocumentDiff compareDocuments(const topology::Document& a, const topology::Document& b,
                              const std::string& where = "");

}  // namespace xylem::diff
