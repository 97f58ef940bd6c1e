#pragma once
// Whether a launcher started this process, as one of a job: launchers say so in variables.
//
//   if (const auto process = launchedProcess(getenv)) ...   // {rank 3 of 8, 1st of 2 on this host, "RANK"}

#include <functional>
#include <optional>
#include <string>

namespace xylem {

// getenv, or a test's stand-in.
using Environment = std::function<const char*(const char*)>;

struct LaunchedProcess {
  int rank = 0;
  int size = 1;
  int localRank = 0;
  int localSize = 1;
  std::string variable;   // that gave `rank`, for messages
  bool knowsHost = true;  // whether the launcher gave `localSize`; all of the job otherwise
};

// Throws InputError for numbers that contradict each other. A launcher that gives nothing but PMIX_RANK is
// asked for the rest through its PMIx library.
std::optional<LaunchedProcess> launchedProcess(const Environment& environment);

}  // namespace xylem
