#pragma once
// The report of `xylem status` on one communicator, as text and as JSON.
//
//   for (const comm::SeenJob& job : comm::jobsOf(comm::seeProcesses({})))
//     writeOut(statusText(job, findingsOf(job), 1, terminalOf(stdout)));

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/status/findings.h"
#include "cli/terminal.h"

namespace xylem::cli {

// Both show the last `calls` calls of each rank.
std::string statusText(const comm::SeenJob& job, const std::vector<Finding>& findings, std::size_t calls,
                       const Terminal& screen);
nlohmann::ordered_json toJson(const comm::SeenJob& job, const std::vector<Finding>& findings,
                              std::size_t calls);

}  // namespace xylem::cli
