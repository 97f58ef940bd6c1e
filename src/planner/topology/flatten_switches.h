#pragma once
// Two-level Broadcom PCI switches appear as one: their inner switches are an artefact of how the chip is
// built.

#include "planner/topology/graph_assembler.h"

namespace xylem {

void flattenBroadcomSwitches(GraphAssembler& graph);

}  // namespace xylem
