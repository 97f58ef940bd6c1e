#pragma once
// The meeting point of a communicator's ranks: each rank checks in with the address where it listens, and,
// once all are there, learns that of the next rank. The root stays until every rank has said that it is
// connected to both neighbours, so that nobody waits for a rank that died on the way.
//
//   auto root = std::make_unique<Root>(address, secret, std::chrono::seconds(60), log);
//   root->start();
//   keepRoot(std::move(root));
//
// It runs in a thread of the process that made the id and ends with the last rank's report. Its clock starts
// with the first rank; if others do not come in time, those that did are told which ones are missing.
//
// A job may have several roots, each with a block of ranks (runtime/bootstrap/blocks.h). The first rank of a block
// also calls at the root before its own, as the last rank of that block needs its address.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/bootstrap/rank_list.h"
#include "runtime/bootstrap/roster.h"
#include "runtime/sockets/acceptor.h"
#include "runtime/sockets/frames.h"

namespace xylem {

class Root {
 public:
  // Listens at once, with the acceptor's secret.
  Root(const SocketAddress& address, const Secret& secret, std::chrono::seconds timeout,
       std::shared_ptr<const Logger> log);
  // Ends the thread, wherever it is.
  ~Root();
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  const SocketAddress& address() const { return address_; }
  void start();
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  struct Member {
    FrameStream stream;
    WireAddress address;
    bool ready = false;
  };
  void serve();
  void waitForSomething();
  // Throws if the claim of who calls cannot be.
  std::optional<Member>& place(const Hello& hello);
  bool complete() const;
  // The time-out, counted from the first call of this, and so much more.
  void setDeadline(std::chrono::milliseconds extra);
  void checkIn(Accepted accepted);
  void listenToMembers();
  void introduce();
  std::vector<int> missing() const;
  void giveUp(ResultCode code, const std::string& text);

  std::shared_ptr<const Logger> log_;
  const std::chrono::seconds timeout_;
  std::optional<Acceptor> acceptor_;  // until it has ended: then nobody is left waiting for an answer
  SocketAddress address_;
  std::mutex stopMutex_;
  FileDescriptor stop_;  // readable when the thread shall end; closed once it has
  Roster roster_;
  // By seat. Empty until the first rank says how many there are.
  std::vector<std::optional<Member>> members_;
  std::size_t present_ = 0;
  std::vector<pollfd> fds_;
  std::vector<std::size_t> speakers_;  // the members that fds_ ends with
  bool introduced_ = false;
  bool done_ = false;
  std::optional<Deadline::Clock::time_point> started_;
  std::optional<Deadline> deadline_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Keeps the root until it has ended; ends it with the process at the latest.
void keepRoot(std::unique_ptr<Root> root);
// Of those that have ended nothing is left after this.
void forgetEndedRoots();

}  // namespace xylem
