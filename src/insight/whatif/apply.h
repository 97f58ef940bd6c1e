#pragma once
// A machine and its settings after some edits.
//
//   Document host = completeForJob(readTopology("dgxh100.xml"));
//   Edited after = applyEdits({host, settings}, {parseEdit("remove net1"), parseEdit("set NCCL_ALGO=Ring")});
//
// Edits follow each other: each finds the machine as those before it left it.

#include <span>

#include "core/settings.h"
#include "planner/topology/document.h"
#include "insight/whatif/edit.h"

namespace xylem {

struct Edited {
  Document document;  // with ranks: completeForJob's
  Settings settings;
};

// Throws InputError for a device or a variable that is not there, and says what is.
Edited applyEdits(Edited start, std::span<const Edit> edits);

}  // namespace xylem
