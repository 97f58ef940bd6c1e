#pragma once
// The socket between two ranks of a host, once their queues are set up: regions of memory come and go over
// it, goodbyes and aborts, and the kernel closes it when the peer's process ends.
//
//   link.sendRegion(0);
//   if (link.news().state == PeerState::kLost) ...
//
// Any thread may call anything here.

#include <atomic>
#include <mutex>
#include <string_view>

#include "runtime/transport/local/local_message.h"
#include "runtime/transport/local/peer_regions.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/local/unix_socket.h"

namespace xylem {

class LocalLink {
 public:
  LocalLink(int peer, FileDescriptor socket) : peer_(peer), socket_(std::move(socket)), regions_(peer) {}

  int peer() const { return peer_; }
  int socket() const { return socket_.get(); }
  // False if the peer is gone.
  bool send(const LocalMessage& message, int fd = -1) noexcept {
    return sendMessage(socket_.get(), &message, sizeof message, fd);
  }

  // Makes sure that the peer has been sent this region. False if that is not possible now.
  bool sendRegion(std::uint32_t region) noexcept;
  // A place in a region of the peer; null if it has none there.
  std::byte* place(std::uint32_t region, std::uint64_t offset, std::size_t bytes);

  PeerNews news();
  void sendBye() noexcept;
  void sendAbort(int culprit, std::string_view text) noexcept;
  static LocalMessage abortMessage(int culprit, std::string_view text) noexcept;
  // What an abort says.
  static std::string_view textOf(const LocalMessage& message);

 private:
  // Takes in what has come.
  void receive();
  void handle(const LocalMessage& message, FileDescriptor fd);

  const int peer_;
  FileDescriptor socket_;
  std::atomic<std::uint64_t> sentRegions_{0};  // bit i: region i
  static_assert(ShareableMemory::kMostRegions <= 64);
  std::mutex mutex_;  // of what follows, and of reading
  PeerRegions regions_;
  PeerNews news_;
};

}  // namespace xylem
