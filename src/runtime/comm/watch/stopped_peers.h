#pragma once
// Ranks of this host whose processes are stopped (SIGSTOP, SIGTSTP). Their sockets stay open and nothing says
// that they will not go on, but the kernel tells in what state a process is.
//
//   StoppedPeers stopped(peers, rank, std::chrono::seconds(1));
//   stopped.look(StoppedPeers::kAll, "AllReduce");          // throws if one has been so for a second
//   fmt::format("rank 0 waits for rank 2{}", stopped.remark())
//
// A process that a debugger holds is in another state and does not count. Any thread may call anything here.
//
// With many ranks on a host each watches only some, those that come after it, and does so less often:
// otherwise looking would grow with the square of their number, and more so the longer it makes them wait.

#include <chrono>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/join/peer_info.h"

namespace xylem {

class StoppedPeers {
 public:
  static constexpr int kAll = -1;

  // `patience`: 0 if a rank may be stopped for as long as it likes.
  StoppedPeers(std::span<const PeerInfo> peers, int rank, std::chrono::seconds patience);

  // Throws ncclRemoteError if `peer`, or with kAll any of those that this rank watches, has been stopped for
  // so long. Cheap if called often: looks about ten times a second, and less often for all of many ranks.
  // `what`: in which this rank waits.
  void look(int peer, std::string_view what);
  // For the end of a sentence: "; rank 1 is stopped (SIGSTOP)" for each that is at this moment.
  std::string remark() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Process {
    int rank = -1;
    pid_t pid = 0;
    bool stopped = false;
    Clock::time_point since{};  // if it is stopped
    Clock::time_point seen{};   // last
  };
  void look(Process& process, Clock::time_point now, std::string_view what);

  const int rank_;
  const std::chrono::seconds patience_;
  std::mutex mutex_;
  std::vector<Process> processes_;  // those of the ranks after this one first
  std::size_t watched_ = 0;         // the first so many, by looks for all
  Clock::duration interval_{};      // between looks for all
  Clock::time_point looked_{};      // for all
};

}  // namespace xylem
