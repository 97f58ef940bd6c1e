#pragma once
// The sockets of a link beyond the first: they carry nothing but parts of large messages, in the order in
// which the first one announces them. Moved by threads of their own, or by whoever drives the link.
//
//   SocketParts parts(SocketParts::Direction::kSend, std::move(sockets), helpers);
//   std::atomic<int> left{1};
//   parts.add(0, data, bytes, &left);     // socket 0; left counts down when all bytes are through
//   parts.move();                         // does something only without helpers

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/file_descriptor.h"

namespace xylem {

class SocketParts {
 public:
  enum class Direction { kSend, kReceive };

  SocketParts(Direction direction, std::vector<FileDescriptor> sockets, int helpers);
  // Stops in the middle of what is under way: close only what is finished, or broken.
  ~SocketParts();

  int sockets() const { return sockets_; }
  bool hasHelpers() const { return threaded_; }
  // At most kMostParts of a socket may be unfinished.
  static constexpr std::size_t kMostParts = 64;
  void add(int socket, std::byte* data, std::size_t bytes, std::atomic<int>* left);
  void move();
  // 0, the errno value of the first failure, or -1 if the other side closed a socket.
  int failure() const { return failure_.load(std::memory_order_acquire); }
  // The sockets that something is left for; without helpers.
  void addTo(std::vector<pollfd>& fds) const;

 private:
  class Group;
  Group& groupOf(int socket) const { return *groups_[static_cast<std::size_t>(socket) % groups_.size()]; }

  int sockets_;
  bool threaded_;
  std::atomic<int> failure_{0};
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace xylem
