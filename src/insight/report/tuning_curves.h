#pragma once
// What every algorithm and protocol would take over sizes, and where the choice changes.

#include <span>

#include "insight/report/picture.h"
#include "planner/tuning/model.h"

namespace xylem {

// From 8 bytes to 8 GiB, two for each power of two.
std::vector<std::uint64_t> curveSizes();
std::vector<CollectiveCurves> tuningCurves(const TuningModel& model, std::span<const std::uint64_t> sizes);

}  // namespace xylem
