#pragma once
// Options of commands about a job of identical hosts of one kind: those of job_input.h without --host.

#include "cli/job_input.h"

namespace xylem::cli {

inline void addMachineOptions(CLI::App& command, JobInput& job) {
  addJobOptions(command, job);
  CLI::Option* file = command.get_option("FILE");
  CLI::Option* hosts = command.get_option("--host");
  file->remove_excludes(hosts);
  command.get_option("--nodes")->remove_excludes(hosts);
  command.remove_option(hosts);
  file->required();
}

}  // namespace xylem::cli
