#include "core/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "core/file_descriptor.h"

namespace xylem {

// Looks for state 'T' in /proc/PID/stat. It follows the name in parentheses, which may contain anything;
// proc(5).
bool processIsStopped(pid_t pid) noexcept {
  if (pid <= 0) return false;
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  const FileDescriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  if (!file) return false;
  const ssize_t bytes = read(file.get(), text.data(), text.size() - 1);
  if (bytes <= 0) return false;
  const char* name = std::strrchr(text.data(), ')');
  return name != nullptr && name[1] == ' ' && name[2] == 'T';
}

}  // namespace xylem
