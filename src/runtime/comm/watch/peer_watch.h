#pragma once
// All connections of a communicator: finds out over them whether peers still live, and tells peers that this
// rank gives up. Transports tell those that are not connected yet. Connections are added while operations
// run.
//
//   watch.add(*connection);
//   watch.throwIfAborted();
//   if (watch.gone(peer, how)) ...
//   watch.ask(); ... if (watch.answerOf(peer) == PeerWatch::Answer::kNone) ...

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/transport.h"

namespace xylem::comm {

class Transports;

class PeerWatch {
 public:
  explicit PeerWatch(int rank) : rank_(rank) {}

  void add(transport::Connection& connection);
  void add(Transports& transports);
  // Throws ncclRemoteError if a peer has said that it gives up.
  void throwIfAborted();
  // Whether nothing more can come from `peer`; `how` says what became of it. A peer that leaves closes its
  // connections one after the other: it is gone once all that were made are closed.
  bool gone(int peer, std::string& how);
  // Asks all peers that can be asked whether they are at work. Peers answer while they wait for something.
  void ask() noexcept;
  enum class Answer { kNotAsked, kNone, kGiven };
  // The answer of `peer` since then. Valid after throwIfAborted(), which receives the answers.
  Answer answerOf(int peer);
  // Whether any peer was asked.
  bool asked() const { return asked_; }
  void abort(int failedRank, std::string_view text) noexcept;

 private:
  const int rank_;
  std::mutex mutex_;
  std::vector<transport::Connection*> connections_;
  std::vector<transport::Connection*> askedOver_;
  std::atomic<bool> asked_{false};
  Transports* transports_ = nullptr;
};

}  // namespace xylem::comm
