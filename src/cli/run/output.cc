#include "cli/run/output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/terminal.h"

namespace xylem::cli {

void OutputQueue::add(std::string_view text) {
  if (!broken_) text_ += text;
}

void OutputQueue::write() {
  pollfd ready{fd_, POLLOUT, 0};
  while (!empty() && poll(&ready, 1, 0) > 0) {
    // A pipe that is ready has room for this much.
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

}  // namespace xylem::cli
