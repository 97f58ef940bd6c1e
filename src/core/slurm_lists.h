#pragma once
// Readers of two compressed lists in Slurm's environment: the host where ranks meet, and the number of tasks
// per host.
//
//   firstSlurmHost("node[07-12,20],login1")   // "node07"
//   slurmTasksOn("4(x2),1", 2)                // 1

#include <optional>
#include <string>
#include <string_view>

namespace xylem {

// The first host of a SLURM_STEP_NODELIST; empty if there is none.
std::string firstSlurmHost(std::string_view list);

// The number of tasks of a SLURM_STEP_TASKS_PER_NODE on the node with this number.
std::optional<int> slurmTasksOn(std::string_view list, int node);

}  // namespace xylem
