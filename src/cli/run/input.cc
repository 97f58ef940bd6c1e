#include "cli/run/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/error.h"

namespace xylem::cli {
namespace {

// Reading it from the background would stop this process.
bool isInForeground() { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }

}  // namespace

TerminalInput::TerminalInput() {
  if (isatty(STDIN_FILENO) == 0) {
    inherited_ = fcntl(STDIN_FILENO, F_GETFD) >= 0 ? STDIN_FILENO : -1;
    return;
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot open a pipe: {}", errnoText(errno));
  rankEnd_ = FileDescriptor(ends[0]);
  ourEnd_ = FileDescriptor(ends[1]);
  fcntl(ourEnd_.get(), F_SETFL, O_NONBLOCK);
}

pollfd TerminalInput::waitingFor() const {
  if (!ourEnd_) return {-1, 0, 0};
  if (!typed_.empty()) return {ourEnd_.get(), POLLOUT, 0};
  return {isInForeground() ? STDIN_FILENO : -1, POLLIN, 0};
}

void TerminalInput::pass() {
  if (typed_.empty()) {
    std::array<char, 4096> buffer;
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) return ourEnd_.reset();
    typed_.assign(buffer.data(), static_cast<std::size_t>(count));
  }
  const ssize_t written = write(ourEnd_.get(), typed_.data(), typed_.size());
  if (written < 0 && errno != EAGAIN && errno != EINTR) return ourEnd_.reset();
  if (written > 0) typed_.erase(0, static_cast<std::size_t>(written));
}

}  // namespace xylem::cli
