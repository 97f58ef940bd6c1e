#pragma once
// The other process of a test of two: this program once more, with only one of its disabled tests, which gets a handle as text.
//
//   EXPECT_EQ(runOtherProcess("CudaIpc.DISABLED_ThePeer", kVariable, hexOf(handle.reserved)), 0);

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/hex.h"

namespace xylem::testing {

// Its exit status, as that of system().
inline int runOtherProcess(const std::string& test, const std::string& variable, const std::string& value) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = variable + "=" + value + " timeout 60 '" + program +
                              "' --gtest_also_run_disabled_tests --gtest_filter=" + test + " >/dev/null 2>&1";
  return std::system(command.c_str());
}

}  // namespace xylem::testing
