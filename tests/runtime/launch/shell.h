#pragma once
// Runs command lines of launchers and returns their output and exit status.
//
//   const Ended ended = shell(kTimeLimit + std::string("mpiexec -n 3 ") + kPerf);
//   EXPECT_EQ(ended.status, 0) << ended.output;

#include <string>

#include "support/sanitizers.h"

namespace xylem::testing {

// `xylem perf`, and an NCCL program that uses only xylem/launch.h.
inline const std::string kPerf = XYLEM_COMMAND " perf all_reduce -b 4K -e 4K -n 2 -w 1";
inline const std::string kProgram = XYLEM_LAUNCHED_PROGRAM;
inline constexpr const char* kTimeLimit = "timeout -k 5 100 ";  // ends the launcher, which ends its ranks

struct Ended {
  int status;
  std::string output;
};

// Runs without the variables of a launcher that may run these tests. Collects stdout and stderr together.
// Ranks meet on the loopback.
Ended shell(const std::string& line);
// The same for hosts of the tests, whose ranks choose their interfaces.
Ended shellForHosts(const std::string& line);

bool isInstalled(const std::string& program);

}  // namespace xylem::testing

// Launchers are not our programs: sanitizers would report their errors, so only plain builds run them.
#define NEEDS(program)                                                                     \
  if (xylem::testing::kSanitized) GTEST_SKIP() << program " is not built with sanitizers"; \
  if (!xylem::testing::isInstalled(program)) GTEST_SKIP() << program " is not installed"
