#pragma once
// A plan as JSON in the format `xylem-plan-1`, which `xylem plan --json` prints and golden plans are written
// in, and the sections of that format for other writers. Bandwidths are in GB/s, times in microseconds. Lists
// are in the engine's order, which is part of the decision.
//
//   toJson(plan)["connections"]["rings"][0]   ->   the ranks of channel 0's ring

#include "planner/plan/json_value.h"
#include "planner/plan/plan.h"
#include "planner/tuning/choice.h"

namespace xylem::plan {

// With `rank`, the connections are those of that rank alone, and the tuning is that of its view.
Json toJson(const Plan& plan, int rank = -1);

// `settings`: the variables that the plan was made with, by name.
Json settingsJson(const Plan& plan);

// `host`: a host's graph, its paths, which GPUs and NICs reach each other, and the channels. Names the ranks
// of the job's host `hostNumber`.
Json hostJson(const HostPlan& host, const Plan& plan, int hostNumber);
// Its first parts, for a machine without a plan.
Json countsJson(const topology::System& system);
Json nodesJson(const topology::System& system);
Json linksJson(const topology::System& system);
// The bandwidths that the description gives in place of NCCL's rules.
Json overridesJson(const topology::System& system, const topology::Document& document);
// The paths from every GPU and NET to every GPU, NET, CPU and NVSwitch within reach.
Json pathsJson(const topology::System& system, const paths::PathTable& paths);

// `merged`: the graphs after all ranks merged theirs.
Json mergedJson(const connect::Connections& connections);
// `connections`: the rings and the connections of all ranks; with `rank`, those of that rank alone and no
// rings.
Json connectionsJson(const Plan& plan, int rank = -1);

// `tuning`: the tables of NCCL's model, and its choices for choiceSizes().
Json tuningJson(const tuning::TuningModel& model);
Json tuningTablesJson(const tuning::TuningModel& model);
// One choice; has an `error` instead of an algorithm if nothing can run the operation.
Json choiceJson(const tuning::Choice& choice);

}  // namespace xylem::plan
