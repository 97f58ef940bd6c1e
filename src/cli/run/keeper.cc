#include "cli/run/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "core/error.h"

namespace xylem::cli {
namespace {

[[noreturn]] void keep(int pipe) {
  // Its own session: what is sent to the terminal's or the launcher's group does not reach it. And none of
  // the launcher's streams, so that those who read them see their end.
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  std::vector<pid_t> groups;
  pid_t group = 0;
  ssize_t count = 0;
  while ((count = read(pipe, &group, sizeof group)) == sizeof group || (count < 0 && errno == EINTR))
    if (count > 0) groups.push_back(group);
  for (const pid_t left : groups) kill(-left, SIGKILL);
  _exit(0);
}

}  // namespace

RunKeeper::RunKeeper() {
  std::fflush(nullptr);  // or the copy could write what is in the buffers
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot open a pipe: {}", errnoText(errno));
  FileDescriptor read(ends[0]);
  pipe_ = FileDescriptor(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw Error(ResultCode::kSystemError, "cannot start a process: {}", errnoText(errno));
  if (pid_ == 0) {
    pipe_.reset();
    keep(read.get());
  }
}

RunKeeper::~RunKeeper() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void RunKeeper::watch(pid_t group) {
  if (write(pipe_.get(), &group, sizeof group) != sizeof group)
    throw Error(ResultCode::kSystemError, "the process that would clean up is gone");
}

}  // namespace xylem::cli
