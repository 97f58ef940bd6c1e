#pragma once
// What `xylem status` prints of a communicator, for people and for programs.

#include <nlohmann/json.hpp>
#include <string>

#include "cli/status/job.h"
#include "cli/terminal.h"

namespace xylem::cli {

// `calls`: of each rank, the last so many.
std::string statusText(const SeenJob& job, const std::vector<Finding>& findings, std::size_t calls,
                       const Terminal& screen);
nlohmann::ordered_json statusJson(const SeenJob& job, const std::vector<Finding>& findings,
                                  std::size_t calls);

}  // namespace xylem::cli
