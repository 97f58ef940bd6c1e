#pragma once
// The files in /dev/shm, to check that Xylem leaves none.

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace xylem::testing {

// A file of libfabric's provider shm, which calls them PROCESS:USER:NUMBER.
inline bool ofFabric(const std::string& name) {
  return name.find(':') != std::string::npos && name.find_first_not_of("0123456789:") == std::string::npos;
}

// Names of the files, except those of programs that other tests may be running at the same time.
inline int sharedMemoryFiles() {
  // Open MPI, UCX, MPICH, PMIx, PyTorch.
  constexpr std::array<std::string_view, 6> kOthers = {"vader_segment", "ucx_",   "mpich",
                                                       "pmix",          "torch_", "sem."};
  int files = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    files += !ofFabric(name) && std::none_of(kOthers.begin(), kOthers.end(),
                                             [&](std::string_view other) { return name.starts_with(other); });
  }
  return files;
}

// Removes the files of libfabric of a process that was killed.
inline void removeFabricFiles(pid_t process) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error))
    if (const std::string name = entry.path().filename().string();
        ofFabric(name) && name.starts_with(std::to_string(process) + ":"))
      std::filesystem::remove(entry.path(), error);
}

}  // namespace xylem::testing
