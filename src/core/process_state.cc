#include "core/process_state.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/file_descriptor.h"

namespace xylem {

namespace {

// The state in /proc/PID/stat; 0 if there is none. It follows the name in parentheses, which may contain anything; proc(5).
char stateOf(pid_t pid) noexcept {
  if (pid <= 0) return 0;
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  const FileDescriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  if (!file) return 0;
  const ssize_t bytes = read(file.get(), text.data(), text.size() - 1);
  if (bytes <= 0) return 0;
  const char* name = std::strrchr(text.data(), ')');
  return name != nullptr && name[1] == ' ' ? name[2] : char{0};
}

}  // namespace

bool processIsStopped(pid_t pid) noexcept { return stateOf(pid) == 'T'; }

bool processIsGone(pid_t pid) noexcept {
  const char state = stateOf(pid);
  if (state == 0) return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
  return state == 'Z' || state == 'X';
}

}  // namespace xylem
