#pragma once
// Environments made of given variables, for functions that take an Environment.

#include <map>
#include <string>

#include "runtime/launch/launched_process.h"

namespace xylem::launch {

using Variables = std::map<std::string, std::string>;

// `variables` must outlive the result.
inline Environment environmentOf(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

inline Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

// The variables that each launcher sets for process 3 of 8, the second of 2 on the second host.
inline const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                                   {"OMPI_COMM_WORLD_SIZE", "8"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
inline const Variables kHydra = {
    {"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
inline const Variables kTorchrun = {{"RANK", "3"},         {"WORLD_SIZE", "8"},
                                    {"LOCAL_RANK", "1"},   {"LOCAL_WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
inline const Variables kSlurm = {{"SLURM_PROCID", "3"},
                                 {"SLURM_STEP_NUM_TASKS", "8"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_NODEID", "1"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "1,2(x3),1"},
                                 {"SLURM_STEP_NODELIST", "n[01-05]"},
                                 {"SLURM_JOB_ID", "4711"},
                                 {"SLURM_STEP_ID", "2"},
                                 {"SLURM_SRUN_COMM_PORT", "40000"}};

}  // namespace xylem::launch
