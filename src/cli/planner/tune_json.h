#pragma once
// A tuning as JSON: the `tuning` section of `xylem plan --json`, with every candidate of every choice.

#include <cstdint>
#include <span>
#include <string>

#include "cli/planner/tune_text.h"

namespace xylem::cli {

std::string tuneJson(const TuningModel& model, std::span<const std::uint64_t> sizes,
                     const TuneSubject& subject);

}  // namespace xylem::cli
