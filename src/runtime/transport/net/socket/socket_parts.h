#pragma once
// The sockets of a link beyond the first. They carry only parts of large messages, in the order in which the
// first socket announces the messages. Helper threads move them; without helpers, the thread that drives the
// link does.
//
//   SocketParts parts(SocketParts::Direction::kSend, std::move(sockets), helpers);
//   std::atomic<int> left{1};
//   parts.add(0, data, bytes, &left);     // on socket 0; `left` counts down once all bytes have moved
//   parts.move();                         // without helpers: moves what can be moved

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/file_descriptor.h"

namespace xylem::transport {

class SocketParts {
 public:
  enum class Direction { kSend, kReceive };

  SocketParts(Direction direction, std::vector<FileDescriptor> sockets, int helpers);
  // Stops in the middle of unfinished parts: destroy only after all are finished, or the link is broken.
  ~SocketParts();

  int sockets() const { return sockets_; }
  bool hasHelpers() const { return threaded_; }
  // The most unfinished parts of a socket.
  static constexpr std::size_t kMaxParts = 64;
  void add(int socket, std::byte* data, std::size_t bytes, std::atomic<int>* left);
  void move();
  // 0, the errno value of the first failure, or -1 if the other side closed a socket.
  int failure() const { return failure_.load(std::memory_order_acquire); }
  // Adds the sockets with unfinished parts; for links without helpers.
  void addTo(std::vector<pollfd>& fds) const;

 private:
  class Group;
  Group& groupOf(int socket) const { return *groups_[static_cast<std::size_t>(socket) % groups_.size()]; }

  int sockets_;
  bool threaded_;
  std::atomic<int> failure_{0};
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace xylem::transport
