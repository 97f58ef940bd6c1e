#pragma once
// Golden plans as input of the tuning model: the decisions of the stages before it, read from the golden
// itself.
//
//   if (const auto job = readJob(file)) computeTuning(job->input, TuningOptions::from(job->settings));

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/settings.h"
#include "planner/tuning/tuning_input.h"

namespace xylem::golden {

struct GoldenJob {
  std::filesystem::path file;
  nlohmann::json plan;
  tuning::TuningInput input;
  Settings settings;
};

// Returns nullopt if the reference fails on the plan, or if no golden beside it lists the CPUs of the hosts.
std::optional<GoldenJob> readJob(const std::filesystem::path& file);

// Returns every plan below a directory, sorted by name.
std::vector<std::filesystem::path> plansBelow(const std::filesystem::path& directory);

}  // namespace xylem::golden
