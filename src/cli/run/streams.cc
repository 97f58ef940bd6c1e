#include "cli/run/streams.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cli/terminal.h"
#include "core/error.h"

namespace xylem::cli {

std::string LineTagger::add(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t space = kMaxLineLength - partial_.size();
    const std::size_t taken = std::min(end == std::string_view::npos ? text.size() : end, space);
    partial_ += text.substr(0, taken);
    text.remove_prefix(taken);
    const bool complete = !text.empty() && text.front() == '\n';
    if (complete) text.remove_prefix(1);
    if (complete || partial_.size() == kMaxLineLength) lines += tag_ + std::exchange(partial_, {}) + "\n";
  }
  return lines;
}

std::string LineTagger::finish() { return partial_.empty() ? "" : tag_ + std::exchange(partial_, {}) + "\n"; }

void OutputQueue::add(std::string_view text) {
  if (!broken_) text_ += text;
}

void OutputQueue::write() {
  pollfd ready{fd_, POLLOUT, 0};
  while (!empty() && poll(&ready, 1, 0) > 0) {
    // A pipe that poll() finds writable accepts this much without blocking.
    const std::size_t count = std::min<std::size_t>(text_.size() - at_, PIPE_BUF);
    const ssize_t written = ::write(fd_, text_.data() + at_, count);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (written < 0) {
      noteOutputError(errno);
      broken_ = true;
      return drop();
    }
    at_ += static_cast<std::size_t>(written);
  }
  if (empty()) drop();
}

namespace {

// Reading the terminal from the background would stop this process.
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
  processEnd_ = FileDescriptor(ends[0]);
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
