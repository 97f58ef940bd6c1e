#pragma once
// Golden plans as input of the tuning model: what the stages before it decided, read from the golden itself.

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
  TuningInput input;
  Settings settings;
};

// nullopt: the reference fails there, or no golden beside it tells the kinds of the hosts' CPUs.
std::optional<GoldenJob> readJob(const std::filesystem::path& file);

// Every plan below a directory, in the order of their names.
std::vector<std::filesystem::path> plansBelow(const std::filesystem::path& directory);

}  // namespace xylem::golden
