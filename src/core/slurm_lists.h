#pragma once
// The two compressed lists in Slurm's environment, as far as ranks need them: where to meet, and how many
// they are on a host.
//
//   firstSlurmHost("node[07-12,20],login1")   // "node07"
//   slurmTasksOn("4(x2),1", 2)                // 1

#include <optional>
#include <string>
#include <string_view>

namespace xylem {

// Of SLURM_STEP_NODELIST; empty if there is none.
std::string firstSlurmHost(std::string_view list);

// What SLURM_STEP_TASKS_PER_NODE says of the node with this number.
std::optional<int> slurmTasksOn(std::string_view list, int node);

}  // namespace xylem
