#pragma once
// The difference of two topology files, element by element, with line numbers. Elements are matched by what
// they are: a pci by its bus id, a cpu by its NUMA id, a net by its name, an nvlink by its two ends.
//
//   DocumentDiff diff = compareDocuments(readTopology("before.xml"), readTopology("after.xml"));
//   diff.elements[0]   ->  kind "nvlink", what "count", before "12", after "4",
//                          things {"0000:07:00.0 to fffffff:ffff:ff", lines 7 and 7}
//
// An element that moved, appeared or disappeared is one change, with all that it holds. Names that only B has
// for a device come from `names` (renaming.h), and are no difference. Nor are the hardware ids of NICs, if they
// put the same ports on one card.

#include <string>

#include "insight/diff/diff.h"
#include "insight/diff/renaming.h"
#include "planner/topology/document.h"

namespace xylem::diff {

struct DocumentDiff {
  Changes elements;
  Changes order;       // children that both files have, in another order
  int otherGuids = 0;  // nets with another hardware id
  // Elements that are gone or new, with those inside, and attributes and places that changed.
  int weight = 0;
};

// `where`: as in Change.
DocumentDiff compareDocuments(const topology::Document& a, const topology::Document& b,
                              const std::string& where = "", const Renaming& names = {});

}  // namespace xylem::diff
