#pragma once
// The launches of one communicator on their way: tasks that are reused, run in the order in which they were
// issued whatever streams they are in, and fail together.
//
//   Launches launches(rank, watch, stopped, patience, log, recorder, check, profiled);
//   Launch& launch = launches.next();
//   ... launch.add(...) ...
//   scheduler.enqueue(stream, launch);
//   launches.failure()   // set once one failed; all later ones fail with it

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/comm/issue/launch.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/watch/stopped_peers.h"
#include "core/log.h"

namespace xylem {

class CallCheck;
class ProfiledQueues;

// How long an operation may go without any progress.
struct Patience {
  std::chrono::seconds span{60};
  bool fails = false;  // past it: the operation fails, or only says in the log whom it waits for
};

class Launches {
 public:
  // `check`: in checked mode. `profiled`: if there is a profiler.
  Launches(int rank, PeerWatch& watch, StoppedPeers& stopped, Patience patience, const Logger& log,
           FlightRecorder& recorder, CallCheck* check, ProfiledQueues* profiled)
      : rank_(rank),
        watch_(watch),
        stopped_(stopped),
        patience_(patience),
        log_(log),
        recorder_(recorder),
        check_(check),
        profiled_(profiled) {}
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  // For the issuing thread, one at a time: an empty launch, to be issued next or given back.
  Launch& next();
  // The same, even if all have failed: it will, too.
  Launch& unchecked();
  // `lasting`: as Scheduler::enqueue.
  void issue(Launch& launch, Stream& stream, bool lasting = false);
  void drop(Launch& launch) noexcept { putBack(launch); }

  // Whether every launch issued so far is over, and no stream is held back by one any more.
  bool idle() const {
    return over_.load(std::memory_order_acquire) == issued_.load(std::memory_order_acquire);
  }
  // Once they have failed: whether no launch touches its buffers, nor will any more. Those that have not
  // begun may stand in streams behind something that does not go on, for as long as that takes.
  bool quiet() const {
    return begun_.load(std::memory_order_seq_cst) == turn_.load(std::memory_order_acquire);
  }
  std::optional<Error> failure() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Keeps the first failure and tells all peers; the launches that are under way end with it.
  void fail(const Error& error) noexcept;
  // The same because the program wants it: from any thread, and nothing for the log.
  void breakOff(const Error& error) noexcept;

  // For launches:
  // Either a launch that begins sees that all have failed, or whoever failed them sees that it has begun.
  void noteBegun() { begun_.fetch_add(1, std::memory_order_seq_cst); }
  void throwIfFailed() const {
    if (failed_.load(std::memory_order_seq_cst)) throw *failure();
  }
  bool isTurn(std::uint64_t number) const { return turn_.load(std::memory_order_acquire) == number; }
  void passTurn() noexcept { turn_.fetch_add(1, std::memory_order_acq_rel); }
  void giveBack(Launch& launch) noexcept {
    putBack(launch);
    over_.fetch_add(1, std::memory_order_release);
  }
  int rank() const { return rank_; }
  PeerWatch& watch() { return watch_; }
  StoppedPeers& stopped() { return stopped_; }
  const Patience& patience() const { return patience_; }
  const Logger& log() const { return log_; }
  FlightRecorder& recorder() { return recorder_; }
  CallCheck* check() { return check_; }
  ProfiledQueues* profiled() { return profiled_; }

 private:
  bool keep(const Error& error) noexcept;
  void putBack(Launch& launch) noexcept;

  const int rank_;
  PeerWatch& watch_;
  StoppedPeers& stopped_;
  const Patience patience_;
  const Logger& log_;
  FlightRecorder& recorder_;
  CallCheck* const check_;
  ProfiledQueues* const profiled_;

  std::atomic<std::uint64_t> issued_{0};            // launches ever issued
  alignas(64) std::atomic<std::uint64_t> turn_{0};  // the number of the launch that may run
  std::atomic<std::uint64_t> begun_{0};             // launches that were at the front of their stream
  std::atomic<std::uint64_t> over_{0};              // launches given back
  std::atomic<Launch*> returned_{nullptr};          // finished ones, newest first
  std::atomic<bool> failed_{false};
  mutable std::mutex failureMutex_;
  std::optional<Error> failure_;
  Launch* free_ = nullptr;  // the issuing thread's
  std::vector<std::unique_ptr<Launch>> all_;
};

}  // namespace xylem
