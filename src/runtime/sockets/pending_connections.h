#pragma once
// Accepts connections and runs the handshake with each of them, without blocking, until it is known which
// ones belong to the job. Connections that are silent, send garbage or do not know the secret are dropped,
// each with a line in the log. They do not delay others and take a bounded number of descriptors: the oldest
// connections that have not said who they are are dropped first.
//
//   Acceptor acceptor(address, secret, log);                 // over TCP
//   std::vector<pollfd> fds;
//   acceptor.addTo(fds);
//   poll(fds.data(), fds.size(), -1);
//   for (Accepted& a : acceptor.advance()) use(a.hello.rank, std::move(a.socket));
//
// PendingConnections does the same over any listening socket. Any thread may call any of its functions.

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/file_descriptor.h"
#include "core/log.h"
#include "runtime/sockets/congestion.h"
#include "runtime/sockets/handshake.h"
#include "runtime/sockets/socket.h"

namespace xylem::sockets {

// A connection whose peer has proven that it belongs to the job.
struct Accepted {
  FileDescriptor socket;
  Hello hello;
  std::string from;
};

// Logs every connection that was dropped, so that many of them do not flood the log: the first ones are
// warnings, then the hundredth, the thousandth and so on. The others are seen with NCCL_DEBUG=INFO only.
//
//   DroppedConnectionLog dropped(log, "Bootstrap");
//   dropped.dropped("10.0.0.7:40312", "it does not speak Xylem's protocol");
class DroppedConnectionLog {
 public:
  // `who` starts the lines. It and `log` must outlive this.
  DroppedConnectionLog(const Logger& log, const char* who) : log_(log), who_(who) {}

  void dropped(const std::string& from, std::string_view reason);
  std::uint64_t count() const { return count_; }

  // This many connections get a warning each.
  static constexpr std::uint64_t kMaxSingleWarnings = 10;

 private:
  const Logger& log_;
  const char* who_;
  std::uint64_t count_ = 0;
  std::uint64_t nextWarning_ = 10 * kMaxSingleWarnings;
};

class PendingConnections {
 public:
  // `listener` is polled; `accept` is called when it is readable. `who` starts the lines in the log; it and
  // `log` must outlive this.
  PendingConnections(int listener, std::function<AcceptResult()> accept, const Secret& secret,
                     const Logger& log, const char* who);
  ~PendingConnections();

  // Readable when `advance` has something to do or to return.
  int fd() const { return epoll_.get(); }
  int listener() const { return listener_; }
  // Moves all handshakes on and returns the connections that have proven to belong to the job.
  std::vector<Accepted> advance();
  // Does the same, but keeps those connections for the next `advance`. True if there may be more to accept.
  bool advanceInBackground();
  // True if any connection has not proven yet that it belongs to the job.
  bool hasUnauthenticated() const;

  // For an owner that takes no more connections: calls `say` with the socket of each connection that has
  // proven to belong to the job and is not taken, now or when it comes.
  void tellAll(std::function<void(int socket)> say);
  // Logs that the owner drops a connection that belongs to the job but has a purpose that is not served here.
  void drop(const Accepted& caller, std::string_view reason);

  // The time for a connection to say who it is; ranks do so at once. For the proof they have a minute.
  static constexpr std::chrono::seconds kPatience{10};
  // The limit for connections that have not said who they are, and for those that have but owe the proof. It
  // is lower where the process may open few files.
  static constexpr std::size_t kMaxPerState = 256;

 private:
  struct Pending;
  using PendingList = std::list<Pending>;
  struct Pending {
    FileDescriptor socket;
    std::string from;
    Handshake handshake;
    Deadline deadline;
    short events = 0;  // that epoll waits for; 0: not registered yet
    bool hasHello = false;
    PendingList::iterator self{};
  };
  void watch(int operation, int fd, std::uint32_t events, void* tag) const;
  bool moveOn();
  bool acceptSome();
  void add(AcceptResult accepted);
  void advanceHandshake(Pending& pending);
  void drop(Pending& pending, std::string_view reason);
  void dropUnlessProven(PendingList& list, std::string_view reason);
  void dropLate(PendingList& list, std::string_view reason);
  void dropTooMany(PendingList& list, std::string_view reason);
  bool dropOldest();
  void pauseAccepting();

  const int listener_;
  const std::function<AcceptResult()> accept_;
  const Secret secret_;
  const char* const who_;
  const Logger& log_;
  FileDescriptor epoll_;
  FileDescriptor bell_;  // readable while `advanceInBackground` has left connections for `advance`

  mutable std::mutex mutex_;  // guards the members below
  DroppedConnectionLog dropped_;
  PendingList silent_;   // have not said who they are; oldest first
  PendingList proving_;  // have said it, and owe the proof; oldest first
  std::vector<Accepted> accepted_;
  std::function<void(int socket)> say_;
  bool rung_ = false;
  std::optional<Deadline> pausedUntil_;  // the listener is not polled before
  bool warned_ = false;                  // that too many files are open
};

// A listening TCP socket with its pending connections.
class Acceptor {
 public:
  // `who` starts the lines in the log and must outlive this.
  Acceptor(const SocketAddress& address, const Secret& secret, const Logger& log,
           const char* who = "Bootstrap", const Congestion& congestion = {});

  const SocketAddress& address() const { return address_; }
  PendingConnections& pendingConnections() { return pendingConnections_; }
  void addTo(std::vector<pollfd>& fds) const { fds.push_back({pendingConnections_.fd(), POLLIN, 0}); }
  // True if any connection has not proven yet that it belongs to the job.
  bool busy() const { return pendingConnections_.hasUnauthenticated(); }
  // Moves all handshakes on and returns the connections that have proven to belong to the job.
  std::vector<Accepted> advance() { return pendingConnections_.advance(); }

 private:
  FileDescriptor listener_;
  SocketAddress address_;
  PendingConnections pendingConnections_;
};

}  // namespace xylem::sockets
