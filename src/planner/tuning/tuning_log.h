#pragma once
// NCCL's lines about its tuning model: latencies and bandwidths, three algorithms side by side, then the
// thresholds.
//
//   for (const LogLine& line : tuningLines(model)) logger.write(line);

#include <vector>

#include "core/log.h"
#include "planner/tuning/model.h"

namespace xylem::tuning {

// Returns no lines for a rank alone.
std::vector<LogLine> tuningLines(const TuningModel& model);

}  // namespace xylem::tuning
