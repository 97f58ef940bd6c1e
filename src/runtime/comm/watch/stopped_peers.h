#pragma once
// Finds ranks of this host whose processes are stopped (SIGSTOP, SIGTSTP). The sockets of such a process stay
// open, so only the kernel tells that it does not go on. A process that a debugger holds does not count as
// stopped.
//
//   StoppedPeers stopped(peers, rank, std::chrono::seconds(1));
//   stopped.check(StoppedPeers::kAll, "AllReduce");     // throws if a peer has been stopped for a second
//   fmt::format("rank 0 waits for rank 2{}", stopped.describe())
//
// If a host has many ranks, each checks only some of them, those that come after it, and less often: the cost
// of all ranks together would otherwise grow with the square of their number. Any thread may call any
// function.

#include <chrono>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/join/peer_info.h"

namespace xylem::comm {

class StoppedPeers {
 public:
  static constexpr int kAll = -1;

  // `patience`: how long a rank may be stopped; 0: for ever.
  StoppedPeers(std::span<const PeerInfo> peers, int rank, std::chrono::seconds patience);

  // Throws ncclRemoteError if `peer` has been stopped for that long; with kAll, if any of the ranks has that
  // this one watches. May be called often: it looks at processes ten times a second, or less often with kAll
  // and many ranks. `what`: the operation in which this rank waits, for the error.
  void check(int peer, std::string_view what);
  // The end of a sentence: "; rank 1 is stopped (SIGSTOP)" for each rank that is stopped now.
  std::string describe() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Process {
    int rank = -1;
    pid_t pid = 0;
    bool stopped = false;
    Clock::time_point since{};  // since when it has been stopped
    Clock::time_point seen{};   // when it was checked last
  };
  void checkProcess(Process& process, Clock::time_point now, std::string_view what);

  const int rank_;
  const std::chrono::seconds patience_;
  std::mutex mutex_;
  std::vector<Process> processes_;  // those of the ranks after this one first
  std::size_t watched_ = 0;         // with kAll, the first of them are checked: this many
  Clock::duration interval_{};      // between two checks of all
  Clock::time_point checked_{};     // the last check of all
};

}  // namespace xylem::comm
