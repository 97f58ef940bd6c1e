#pragma once
// The names of a job's hosts in a fabric, and hostfiles.
//
//   hostNames({"h[0-3]", ""}, fabric, 4)   ->   h0 h1 h2 h3
//   hostfileText({"h2", "h0"}, {8, 8})     ->   "h2 slots=8\nh0 slots=8\n"

#include <string>
#include <vector>

#include "insight/fabric/fabric.h"

namespace xylem::cli {

struct HostNameOptions {
  std::string list;      // --hosts
  std::string hostfile;  // --hostfile
};

// By host of the job. Without a list or a file: all of the fabric, in its order. Throws InputError if they
// are not as many as the job has.
std::vector<std::string> hostNames(const HostNameOptions& options, const Fabric& fabric, int hosts);

// The first word of every line, without a number of slots behind a colon; `#` starts a comment.
std::vector<std::string> readHostfile(const std::string& path);
// As Open MPI reads it.
std::string hostfileText(const std::vector<std::string>& hosts, const std::vector<int>& ranks);

}  // namespace xylem::cli
