#pragma once
// The whole planner as one call: from a host's description and the size of the job to the Plan.
//
//   Plan plan = planJob({readTopology("topologies/dgxh100.xml"), 2}, settings);
//   for (const auto& ring : plan.connections.rings) ...   // ring[c]: the ranks of channel c, from rank 0
//
// Pure: values in, values out. The same input always gives the same plan.

#include <memory>

#include "channels/graph_file.h"
#include "core/settings.h"
#include "plan/plan.h"
#include "topology/document.h"

namespace xylem {

struct PlanRequest {
  // One host; gpu elements carry `rank` (0 to n-1 on the host), or document order numbers them.
  Document topology;
  // Identical hosts; host h's ranks are h*n to h*n+n-1.
  int hosts = 1;
  // Channels to take instead of searching, as NCCL_GRAPH_FILE names; whoever asks has read the file.
  std::shared_ptr<const GraphFile> graphFile = nullptr;
};

// Throws InputError (with file and line) for a description that cannot be planned.
Plan planJob(const PlanRequest& request, const Settings& settings);

}  // namespace xylem
