#pragma once
// From what each rank of a host detected to one description of the host.
//
//   for each rank: doc = detected machine, own gpu and all nets marked keep="1"; trimToKept(doc);
//   Document host = fuse({doc of local rank 0, doc of local rank 1, ...});

#include <vector>

#include "planner/topology/document.h"

namespace xylem {

// Removes every pci and cpu element that holds nothing marked keep="1", and the marks themselves.
void trimToKept(Document& document);

// Merges descriptions in the order given: elements merge if name and all attributes are equal, others are
// appended.
Document fuse(const std::vector<Document>& documents);

}  // namespace xylem
