#pragma once
// Tells whether a launcher started this process as one of a job. Launchers say so in environment variables.
//
//   if (const auto process = launchedProcess(getenv)) ...   // {3, 8, 1, 2, "RANK"}: rank 3 of 8

#include <functional>
#include <optional>
#include <string>

namespace xylem::launch {

// getenv, or a test's stand-in.
using Environment = std::function<const char*(const char*)>;

struct LaunchedProcess {
  int rank = 0;
  int size = 1;
  int localRank = 0;
  int localSize = 1;
  std::string variable;   // the one that gave `rank`, for messages
  bool knowsHost = true;  // false: the launcher did not give `localSize`, which is then `size`
};

// Throws InputError for values that are no numbers, and for numbers that contradict each other. If the launcher sets only PMIX_RANK, its PMIx
// library is asked for the other numbers.
std::optional<LaunchedProcess> launchedProcess(const Environment& environment);

}  // namespace xylem::launch
