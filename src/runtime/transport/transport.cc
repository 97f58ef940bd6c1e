#include "runtime/transport/transport.h"

#include <poll.h>

#include <algorithm>

namespace xylem::transport {
namespace {

// The longest time between two calls of Waiting::look.
constexpr int kWaitMilliseconds = 20;
// The time between two attempts to advance a connection that has no descriptor to wait for.
constexpr int kRetryMilliseconds = 1;

std::string ranksOf(const std::vector<Connection*>& connections) {
  std::vector<int> ranks;
  for (const Connection* connection : connections) ranks.push_back(connection->peer());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

void Connection::abort(int failedRank, std::string_view text) noexcept {
  if (PeerSession* const with = session()) {
    with->tellAbort(failedRank, text);
    withdraw();
    with->flushWithin(Deadline::after(kAbortTime));
  }
  awaitRelease(Deadline::after(kReleaseTime));
}

void connectAll(std::span<Connection* const> connections, const Waiting& waiting) {
  std::vector<Connection*> missing(connections.begin(), connections.end());
  std::vector<pollfd> fds;
  for (;;) {
    std::erase_if(missing, [](Connection* connection) { return connection->advance(); });
    if (missing.empty()) return;
    if (waiting.look) waiting.look();
    if (waiting.deadline.passed())
      throw Error(ResultCode::kRemoteError, "timed out connecting; waiting for {}", ranksOf(missing));
    fds.clear();
    int limit = kWaitMilliseconds;
    for (const Connection* connection : missing) {
      const int fd = connection->waitsFor();
      if (fd < 0) limit = kRetryMilliseconds;
      // Connections that wait for the same descriptor are next to each other.
      else if (fds.empty() || fds.back().fd != fd)
        fds.push_back({fd, POLLIN, 0});
    }
    poll(fds.data(), fds.size(), waiting.deadline.pollMilliseconds(limit));
  }
}

}  // namespace xylem::transport
