#pragma once
// Watches the peers of a communicator over its connections and their sessions: finds out whether they still
// live, and tells them if this rank gives up. Connections are added while operations run.
//
//   watch.add(*connection);
//   watch.throwIfAborted();
//   if (watch.gone(peer, how)) ...
//   watch.ask(); ... if (watch.answerOf(peer) == PeerWatch::Answer::kNone) ...
//   watch.abort(rank, "rank 3 is gone");
//
// Any thread may call any function. No lock is held while a session or a connection is called, so a rank that
// gives up never waits for a thread that looks after the peers.

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

// The text that other ranks hear of an error of `rank`. An error that came from another rank, or is about one, already names it.
std::string toldToPeers(int rank, const Error& error);

class PeerWatch {
 public:
  // The connection, and the session that it uses, must outlive this object.
  void add(transport::Connection& connection);
  // From now on abort() also tells peers that are not connected yet.
  void add(transport::PeerSessions& sessions);
  // Throws ncclRemoteError if a peer has said that it gives up.
  void throwIfAborted();
  // Whether nothing more can come from `peer`; `how` says what became of it. A peer that leaves closes its
  // connections one after the other: it is gone once all that were made are closed.
  bool gone(int peer, std::string& how);
  // A rank of this host without which what this rank has sent to `peer` does not go on; -1: none.
  int neededFor(int peer);
  // Asks all peers whether they are at work. Peers answer while they wait for something.
  void ask() noexcept;
  enum class Answer { kNotAsked, kNone, kGiven };
  // The answer of `peer` since then. Valid after throwIfAborted(), which receives the answers.
  Answer answerOf(int peer);
  // Whether any peer was asked.
  bool asked() const { return asked_; }
  // Tells all peers that this rank gives up because of `failedRank`, and only then waits until none of them
  // uses this rank's buffers: a peer that is slow, or does not react, delays no other's notice.
  void abort(int failedRank, std::string_view text) noexcept;

 private:
  // Items by number; null past the last one. They are never removed, so that callers need not hold the lock.
  transport::Connection* connection(std::size_t number) const;
  transport::PeerSession* session(std::size_t number) const;

  mutable std::mutex mutex_;  // guards the lists
  std::vector<transport::Connection*> connections_;
  std::vector<transport::PeerSession*> sessions_;  // those of the connections, each once
  std::atomic<transport::PeerSessions*> all_{nullptr};
  std::atomic<bool> asked_{false};
};

}  // namespace xylem::comm
