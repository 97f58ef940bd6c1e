#pragma once
// The policy of a launch that cannot advance: about every millisecond it looks whether its peers gave up, are
// gone or are stopped, and after a time it warns or fails. How the thread itself waits in between (spins,
// yields, sleeps) is the device's business (runtime/device/waiting.h).
//
//   Stall stall(policy);
//   stall.begin(comparing);
//   stall.awaitPeer(peer, Function::kAllReduce);      // throws if that rank is gone, stopped or too slow
//   stall.endCheck();
//   ...
//   stall.over();                                     // the launch advances again

#include <chrono>
#include <optional>

#include "core/error.h"
#include "core/kinds.h"
#include "core/log.h"
#include "runtime/comm/watch/cycle_check.h"
#include "runtime/comm/watch/peer_watch.h"
#include "runtime/comm/watch/stopped_peers.h"

namespace xylem::comm {

class CallCheck;

// How long an operation may make no progress, what happens then, and who knows about the peers. One for all
// launches of a communicator.
struct StallPolicy {
  int rank = 0;
  std::chrono::seconds span{60};
  bool fails = false;  // after that time the operation fails; otherwise the log names the rank it waits for
  PeerWatch& watch;
  StoppedPeers& stopped;
  const Logger& log;
  // In checked mode the communicator in whose waits cycles are looked for; otherwise 0.
  std::uint64_t checked = 0;
};

// The stalls of one launch.
class Stall {
 public:
  explicit Stall(const StallPolicy& policy) : policy_(policy), cycles_(policy.checked, policy.rank) {}

  // The launch begins.
  void reset() {
    over();
    warned_ = false;
    news_.reset();
  }
  // The launch has advanced.
  void over() {
    stalled_ = sawPeerEnd_ = false;
    cycles_.reset();
  }

  // One check while the launch does not advance: begin(), then awaitCalls() or awaitPeer() for whatever it
  // waits for, then endCheck(). Each may throw the Error that ends the launch.
  // `comparing`: the ranks still compare their calls, in checked mode.
  void begin(bool comparing);
  // The launch waits for calls of other ranks.
  void awaitCalls(const CallCheck& check);
  // An operation waits for a rank, or for the network that reduces.
  void awaitPeer(int peer, Function function);
  void endCheck() { sawPeerEnd_ = seesPeerEnd_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration waited() const { return Clock::now() - start_; }
  void checkAborted(bool comparing);
  void checkPatience(int peer, const char* what);
  void timeOut(int peer, const char* what, Clock::duration waited) const;

  const StallPolicy& policy_;
  CycleCheck cycles_;
  bool stalled_ = false;
  Clock::time_point start_{};
  // The last and this check saw that the awaited peer is gone. In between, a step takes the data that the peer
  // left in the queues.
  bool sawPeerEnd_ = false, seesPeerEnd_ = false;
  bool warned_ = false;
  bool asked_ = false;         // peers were asked whether they are at work
  std::optional<Error> news_;  // a peer gave up while calls were compared
};

}  // namespace xylem::comm
