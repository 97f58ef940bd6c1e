#include "cli/perf/message.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace xylem::cli {

PerfMessage PerfMessage::of(Kind kind, int rank) {
  PerfMessage message;
  message.kind = kind;
  message.rank = rank;
  message.pid = getpid();
  return message;
}

void PerfMessage::setText(std::string_view words) {
  std::memset(text, 0, sizeof text);
  std::memcpy(text, words.data(), std::min(words.size(), sizeof text - 1));
}

bool sendPerf(int socket, const PerfMessage& message) {
  ssize_t sent = -1;
  do {
    sent = send(socket, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}

bool receivePerf(int socket, PerfMessage& message) {
  ssize_t received = -1;
  do {
    received = recv(socket, &message, sizeof message, 0);
  } while (received < 0 && errno == EINTR);
  return received == static_cast<ssize_t>(sizeof message);
}

}  // namespace xylem::cli
