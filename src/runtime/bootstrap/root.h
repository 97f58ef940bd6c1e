#pragma once
// Unique ids and the roots behind them. A root is the rendezvous of a communicator's ranks: each rank checks
// in with the address where it listens and, once all have, is sent the address of the next rank. The root
// stays until every rank has reported that it is connected to both neighbours, so that no rank waits for one
// that died on the way.
//
//   UniqueId id = openRendezvous(settings, log);   // ncclGetUniqueId: starts a root, or uses NCCL_COMM_ID
//   hostCommId(id, settings, log);                 // rank 0, before it joins: starts NCCL_COMM_ID's root
//
// A root runs in a thread of the process that made the id and ends with the last rank's report. Its time-out
// starts with the first rank. If ranks are missing when it is over, the root sends the others the list of
// them.
//
// A job may have several roots, each with a block of ranks (runtime/bootstrap/roster.h). The first rank of a
// block also checks in at the root before its own, as the last rank of that block needs its address.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "runtime/bootstrap/rank_list.h"
#include "runtime/bootstrap/reminder.h"
#include "runtime/bootstrap/roster.h"
#include "runtime/bootstrap/unique_id.h"
#include "runtime/sockets/frames.h"
#include "runtime/sockets/pending_connections.h"

namespace xylem::bootstrap {

class Root {
 public:
  // Listens at once; `secret` is that of the id.
  Root(const sockets::SocketAddress& address, const sockets::Secret& secret, std::chrono::seconds timeout,
       std::shared_ptr<const Logger> log, const Reminder::Times& reminders = {});
  // Ends the thread, whatever it waits for.
  ~Root();
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  const sockets::SocketAddress& address() const { return address_; }
  void start();
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  struct Member {
    sockets::FrameStream stream;
    sockets::WireAddress address;
    bool ready = false;
  };
  void serve();
  void waitForEvents();
  // Throws if the hello cannot be.
  std::optional<Member>& memberOf(const sockets::Hello& hello);
  bool complete() const;
  // Sets the deadline to `extra` after the time-out, which starts with the first call of this.
  void setDeadline(std::chrono::milliseconds extra);
  void checkIn(sockets::Accepted accepted);
  void readFromMembers();
  void introduce();
  std::vector<int> missing() const;
  // Tells the log from time to time who is missing.
  void remind();
  void giveUp(ResultCode code, const std::string& text);

  std::shared_ptr<const Logger> log_;
  const std::chrono::seconds timeout_;
  const Reminder::Times reminders_;
  std::optional<sockets::Acceptor>
      acceptor_;  // reset when the thread ends, so that later connections are refused
  sockets::SocketAddress address_;
  std::mutex stopMutex_;
  FileDescriptor stop_;  // readable once the thread has to end; closed once it has
  Roster roster_;
  // By seat. Empty until the first rank says how many there are.
  std::vector<std::optional<Member>> members_;
  std::size_t present_ = 0;
  std::vector<pollfd> fds_;
  std::vector<std::size_t> polled_;  // the seats of the members at the end of fds_
  bool introduced_ = false;
  bool done_ = false;
  std::optional<Deadline::Clock::time_point> started_;
  std::optional<Deadline> deadline_;
  std::optional<Reminder> reminder_;  // since the first rank
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Returns the id of a new job. Starts its root, unless NCCL_COMM_ID says where rank 0 will start it. The root
// lives until it has ended, or until the process ends.
UniqueId openRendezvous(const Settings& settings, std::shared_ptr<const Logger> log);
// Starts the root of NCCL_COMM_ID; does nothing if that is not set.
void hostCommId(const UniqueId& id, const Settings& settings, std::shared_ptr<const Logger> log);
// Frees the roots that have ended.
void forgetEndedRoots();

}  // namespace xylem::bootstrap
