#include "runtime/comm/watch/stopped_peers.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/process_state.h"

namespace xylem::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 100ms;
// Asking the kernel costs some ten microseconds per process. With these limits all ranks of a host together
// spend a few percent of one core on it.
constexpr std::size_t kWatched = 16;
// If a rank has not checked for this many intervals, it was probably stopped itself, together with the
// others: that time does not count.
constexpr int kMaxMissedIntervals = 10;

}  // namespace

StoppedPeers::StoppedPeers(std::span<const PeerInfo> peers, int rank, std::chrono::seconds patience)
    : rank_(rank), patience_(patience) {
  const transport::Peer& self = peers[static_cast<std::size_t>(rank)].peer;
  for (const PeerInfo& info : peers) {
    const transport::Peer& peer = info.peer;
    // In another PID namespace the number belongs to another process.
    if (peer.hostHash == self.hostHash && peer.pidNamespace == self.pidNamespace && self.pidNamespace != 0 &&
        peer.process != self.process && peer.pid > 0)
      processes_.push_back({.rank = peer.rank, .pid = static_cast<pid_t>(peer.pid)});
  }
  std::rotate(
      processes_.begin(),
      std::find_if(processes_.begin(), processes_.end(), [&](const Process& p) { return p.rank > rank; }),
      processes_.end());
  watched_ = std::min(kWatched, processes_.size());
  interval_ = kInterval * std::max<std::size_t>(1, processes_.size() / kWatched);
  checked_ = Clock::now();  // no process counts as stopped before that
}

void StoppedPeers::check(int peer, std::string_view what) {
  if (patience_.count() == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const auto now = Clock::now();
  if (peer != kAll) {
    const auto found = std::find_if(processes_.begin(), processes_.end(),
                                    [peer](const Process& process) { return process.rank == peer; });
    if (found != processes_.end() && now - found->seen >= kInterval) checkProcess(*found, now, what);
  } else if (now - checked_ >= interval_) {
    checked_ = now;
    for (Process& process : std::span(processes_).first(watched_)) checkProcess(process, now, what);
  }
}

void StoppedPeers::checkProcess(Process& process, Clock::time_point now, std::string_view what) {
  const bool goesOn = process.stopped && now - process.seen < kMaxMissedIntervals * interval_;
  process.seen = now;
  process.stopped = processIsStopped(process.pid);
  if (!process.stopped) return;
  if (!goesOn) process.since = now;
  if (now - process.since < patience_) return;
  throw Error(ResultCode::kRemoteError,
              "rank {} is stopped (SIGSTOP; process {}) while rank {} waits in {}; XYLEM_STOPPED_TIMEOUT={} "
              "says for how many seconds a rank may be",
              process.rank, process.pid, rank_, what, patience_.count());
}

std::string StoppedPeers::describe() const {
  std::string text;
  for (const Process& process : processes_)
    if (processIsStopped(process.pid)) text += fmt::format("; rank {} is stopped (SIGSTOP)", process.rank);
  return text;
}

}  // namespace xylem::comm
