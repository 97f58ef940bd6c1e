#pragma once
// The other process of a test of two: this program once more, with only one of its disabled tests, which gets a handle as text.
//
//   EXPECT_EQ(runOtherProcess("CudaIpc.DISABLED_ThePeer", kVariable, hexOf(handle.reserved)), 0);
//   bytesOf(std::getenv(kVariable), handle.reserved);     // over there

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace xylem::testing {

// Its exit status, as that of system().
inline int runOtherProcess(const std::string& test, const std::string& variable, const std::string& value) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = variable + "=" + value + " timeout 60 '" + program +
                              "' --gtest_also_run_disabled_tests --gtest_filter=" + test + " >/dev/null 2>&1";
  return std::system(command.c_str());
}

template <typename Byte, std::size_t N>
std::string hexOf(const Byte (&bytes)[N]) {
  std::string text;
  char digits[3];
  for (const Byte byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

// `text` has at least N pairs of digits.
template <typename Byte, std::size_t N>
void bytesOf(const char* text, Byte (&bytes)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    bytes[i] = static_cast<Byte>(std::stoi(std::string(text + 2 * i, 2), nullptr, 16));
}

}  // namespace xylem::testing
