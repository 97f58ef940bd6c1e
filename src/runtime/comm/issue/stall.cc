#include "runtime/comm/issue/stall.h"

#include <string>

#include "runtime/comm/issue/call_check.h"
#include "runtime/transport/collnet/coll_network.h"

namespace xylem::comm {
namespace {

// After this long without progress peers are suspected of being stopped.
constexpr std::chrono::milliseconds kPause{100};

// This long before the time-out, peers are asked whether they are at work. A rank whose peer is at work waits
// for this long after the time-out: a rank nearer to the cause reports it in the meantime.
constexpr std::chrono::seconds kTimeToAnswer{1};
constexpr std::chrono::seconds kTimeToReport{2};

// A rank whose calls differ from the others' gives up at once. The other ranks get this long to find the
// difference themselves, in the calls that are still on their way to them, before they report that the rank
// gave up.
constexpr std::chrono::seconds kTimeToCompare{1};

std::string nameOf(int peer) {
  return peer == transport::kReducingNetwork ? "the network" : fmt::format("rank {}", peer);
}

}  // namespace

void Stall::begin(bool comparing) {
  if (!stalled_) {
    stalled_ = true;
    asked_ = false;
    start_ = Clock::now();
  }
  seesPeerEnd_ = false;
  checkAborted(comparing);
  if (policy_.checked != 0) cycles_.check();
}

// Throws if a peer has given up; in checked mode not before this rank had time to find out itself what
// differs.
void Stall::checkAborted(bool comparing) {
  if (!news_) {
    try {
      policy_.watch.throwIfAborted();
      return;
    } catch (const Error& error) {
      if (!comparing) throw;
      news_ = error;
      start_ = Clock::now();
    }
  }
  if (!comparing || waited() > kTimeToCompare) throw Error(*news_);
}

// The previous rank passes on the calls of all others. Throws if it was already gone in the last check, or if
// the comparison takes too long.
void Stall::awaitCalls(const CallCheck& check) {
  const int previous = check.previousRank();
  std::string how;
  const bool gone = policy_.watch.gone(previous, how);
  if (gone && sawPeerEnd_)
    throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} compares its calls with it",
                previous, how, policy_.rank);
  if (waited() >= policy_.span) {
    cycles_.conclude();
    throw Error(ResultCode::kRemoteError, "timed out after {} s: {} (found by XYLEM_CHECK=1)",
                policy_.span.count(), check.missingText());
  }
  seesPeerEnd_ = gone;
}

void Stall::awaitPeer(int peer, Function function) {
  const char* const what = name(function);
  std::string how;
  if (policy_.watch.gone(peer, how)) {
    // It may have left after it had finished its part, which is then in the queues: step once more first.
    if (sawPeerEnd_)
      throw Error(ResultCode::kRemoteError, "rank {} is gone ({}) while rank {} waits for it in {}", peer,
                  how, policy_.rank, what);
    seesPeerEnd_ = true;
  }
  checkPatience(peer, what);
  // A collective needs all ranks, so any stopped one holds it up, not only the peer.
  if (waited() <= kPause) return;
  policy_.stopped.check(isPointToPoint(function) ? peer : StoppedPeers::kAll, what);
  if (const int needed = policy_.watch.neededFor(peer); needed >= 0) policy_.stopped.check(needed, what);
}

void Stall::checkPatience(int peer, const char* what) {
  const Clock::duration waited = this->waited();
  if (policy_.fails && !asked_ && waited >= policy_.span - kTimeToAnswer) {
    asked_ = true;
    policy_.watch.ask();
  }
  if (waited < policy_.span) return;
  if (policy_.fails) return timeOut(peer, what, waited);
  if (warned_) return;
  policy_.log.warn("{} : rank {} has waited {} s for {}, which is alive{}", what, policy_.rank,
                   policy_.span.count(), nameOf(peer), policy_.stopped.describe());
  warned_ = true;
}

// The operation took too long. If the peer is at work, it waits itself, and a rank nearer to the cause will
// report it: only a rank whose peer does not answer fails at once.
void Stall::timeOut(int peer, const char* what, Clock::duration waited) const {
  cycles_.conclude();
  const PeerWatch::Answer answer = policy_.watch.answerOf(peer);
  if (policy_.watch.asked() && answer != PeerWatch::Answer::kNone && waited < policy_.span + kTimeToReport)
    return;
  throw Error(ResultCode::kRemoteError, "timed out after {} s in {}: rank {} waits for {}{}{}",
              policy_.span.count(), what, policy_.rank, nameOf(peer),
              answer == PeerWatch::Answer::kNone ? " (no answer: it is stopped, or does something else)" : "",
              policy_.stopped.describe());
}

}  // namespace xylem::comm
