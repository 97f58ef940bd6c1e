#pragma once
// Receives whoever calls at a listening socket, and keeps apart those who know the secret and all others.
// Strangers, garbage, connections that say nothing or too little are dropped with a line in the log each.
// They hold nobody up, and however many they are, they take a bounded number of descriptors: the oldest of
// those that have not said who they are go first.
//
//   Reception reception(listener.fd(), [&] { return listener.accept(); }, secret, log, "NET");
//   poll for reception.fd() to become readable
//   for (Accepted& caller : reception.advance()) use(caller.hello.rank, std::move(caller.socket));
//
// Any thread may call anything here.

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/file_descriptor.h"
#include "runtime/sockets/arrival.h"
#include "runtime/sockets/handshake.h"
#include "runtime/sockets/stranger_log.h"

namespace xylem {

struct Accepted {
  FileDescriptor socket;
  Hello hello;
  std::string from;
};

class Reception {
 public:
  Reception(int listener, std::function<Arrival()> next, const Secret& secret, const Logger& log,
            const char* who);
  ~Reception();

  // Readable when there is something to do here, or somebody to be taken.
  int fd() const { return epoll_.get(); }
  int listener() const { return listener_; }
  // Goes on with everybody; those who have shown that they belong to the job.
  std::vector<Accepted> advance();
  // The same, but they are kept for `advance`. Whether somebody may still be at the door.
  bool look();
  // Whether anybody is here who has not shown yet that he belongs to the job.
  bool strangers() const;
  // The owner takes nobody any more: all who have shown that they belong to the job, and are not taken, are
  // told so, at once or when they come.
  void tellAll(std::function<void(int socket)> say);
  // Somebody has shown that he belongs to the job, but has come for nothing that there is.
  void drop(const Accepted& caller, std::string_view reason);

  // How long somebody may take to say who he is; ranks say it at once. To prove it they have a minute.
  static constexpr std::chrono::seconds kPatience{10};
  // Of each of these two kinds so many are listened to at once, and fewer where few files may be open.
  static constexpr std::size_t kMostOfAKind = 256;

 private:
  struct Guest;
  using Guests = std::list<Guest>;
  struct Guest {
    FileDescriptor socket;
    std::string from;
    Handshake handshake;
    Deadline deadline;
    short events = 0;  // that epoll waits for; 0: not yet
    bool heard = false;
    Guests::iterator self{};
  };
  void watch(int operation, int fd, std::uint32_t events, void* tag) const;
  bool goOn();
  bool letIn();
  void welcome(Arrival arrival);
  void hear(Guest& guest);
  void part(Guest& guest, std::string_view reason);
  void partUnlessProven(Guests& guests, std::string_view reason);
  void partWithLate(Guests& guests, std::string_view reason);
  void partWithTooMany(Guests& guests, std::string_view reason);
  bool partWithOldest();
  void outOfDescriptors();

  const int listener_;
  const std::function<Arrival()> next_;
  const Secret secret_;
  const char* const who_;
  const Logger& log_;
  FileDescriptor epoll_;
  FileDescriptor bell_;  // readable while `look` has left somebody to be taken

  mutable std::mutex mutex_;  // of what follows
  StrangerLog strangerLog_;
  Guests silent_;  // have not said who they are; oldest first
  Guests heard_;   // have, and prove it now
  std::vector<Accepted> accepted_;
  std::function<void(int socket)> say_;
  bool rung_ = false;
  std::optional<Deadline> deaf_;  // the listener is not looked at until then
  bool warned_ = false;           // about a lack of descriptors
};

}  // namespace xylem
