#pragma once
// All connections of a communicator, for whoever has to know whether its peers still live, or to tell them
// that this rank gives up; transports tell those that are not connected yet. Connections are added while
// operations run.
//
//   watch.add(*connection);
//   watch.look();                 // throws if a peer gave up
//   if (watch.gone(peer, how)) ...
//   watch.ask(); ... if (watch.answerOf(peer) == PeerWatch::Answer::kNone) ...

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/transport.h"

namespace xylem {

class Transports;

class PeerWatch {
 public:
  explicit PeerWatch(int rank) : rank_(rank) {}

  void add(Connection& connection);
  void add(Transports& transports);
  // Throws ncclRemoteError if any peer has said that it gives up.
  void look();
  // Whether nothing more comes from `peer`; `how` says what became of it. One that leaves closes its
  // connections one after the other: it is gone when all those that were made are closed.
  bool gone(int peer, std::string& how);
  // Asks all that can be asked whether they are at work; they answer while they wait for something.
  void ask() noexcept;
  enum class Answer { kNotAsked, kNone, kGiven };
  // `peer`'s since. Only after look(), which hears it.
  Answer answerOf(int peer);
  // Whether anybody was asked.
  bool asked() const { return asked_; }
  void abort(int culprit, std::string_view text) noexcept;

 private:
  const int rank_;
  std::mutex mutex_;
  std::vector<Connection*> connections_;
  std::vector<Connection*> askedOver_;
  std::atomic<bool> asked_{false};
  Transports* transports_ = nullptr;
};

}  // namespace xylem
