#pragma once
// The socket between two ranks of one host, and the messages that travel over it once each rank has shown
// that it belongs to the job. local_dialogue.h sets the queues up with kMemory and kReach. From then on
// LocalLink hands over regions of memory and reports how the peer is. The kernel closes the socket when the
// peer's process ends.
//
//   LocalLink link(peer, std::move(socket));
//   link.sendRegion(0);                                            // the peer may map region 0
//   if (link.news().state == PeerState::kLost) ...
//
// Any thread may call any function of LocalLink.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "core/shareable_memory.h"
#include "runtime/transport/local/shared_memory.h"
#include "runtime/transport/local/unix_socket.h"
#include "runtime/transport/transport.h"

namespace xylem::transport {

// All messages have one layout.
struct LocalMessage {
  enum Kind : std::uint32_t {
    kMemory = 1,  // the queues this side receives on; with their descriptor if the peer is another process
    kReach = 2,   // whether this side can read the peer's memory
    kRegion = 3,  // a region of ShareableMemory, with its descriptor
    kBye = 4,
    kAbort = 5,
  };
  std::uint32_t kind = 0;
  std::int32_t rank = -1;       // kAbort: the failed rank
  std::uint32_t receives = 0;   // kMemory: number of queues that this side receives on
  std::uint32_t sends = 0;      // kMemory: number of queues that it sends on
  std::uint32_t textBytes = 0;  // kAbort
  std::uint32_t region = 0;     // kRegion: its number
  std::uint32_t readable = 0;   // kReach: 1 if it can
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;          // kRegion: its size
  std::uint64_t handle = 0;         // kMemory: InProcess::handle() if the peer is in this process
  std::uint64_t stepBytes[3] = {};  // kMemory
  // kMemory: random bytes and their address, by which the peer tests whether it can read this process's
  // memory.
  std::uint64_t probeAddress = 0;
  std::uint64_t probe[2] = {};
  char text[232] = {};  // kAbort: what happened
};
static_assert(sizeof(LocalMessage) == 328);

// The regions of a peer's ShareableMemory that this process has mapped.
//
//   regions.map(number, std::move(fd), bytes);            // when the peer has sent one
//   if (std::byte* data = regions.at(number, offset, n)) ...
class MappedRegions {
 public:
  // `owner`: a rank of another process.
  explicit MappedRegions(int owner) : owner_(owner) {}
  // One thread may call it at a time. Throws if the region cannot be mapped.
  void map(std::uint32_t region, FileDescriptor fd, std::size_t bytes);
  bool known(std::uint32_t region) const;
  // The address of a range of a region; null if the region is not mapped or shorter. Any thread may call it.
  std::byte* at(std::uint32_t region, std::uint64_t offset, std::size_t bytes) const;

 private:
  struct Mapping {
    SharedMemory memory;
    std::atomic<bool> mapped{false};
  };
  const int owner_;
  std::array<Mapping, ShareableMemory::kMaxRegions> mappings_;
};

class LocalLink {
 public:
  LocalLink(int peer, FileDescriptor socket) : peer_(peer), socket_(std::move(socket)), regions_(peer) {}

  int peer() const { return peer_; }
  int socket() const { return socket_.get(); }
  // Returns false if the peer is gone.
  bool send(const LocalMessage& message, int fd = -1) noexcept {
    return sendMessage(socket_.get(), &message, sizeof message, fd);
  }

  // Sends the peer this region unless it has been sent. Returns false if that is not possible now.
  bool sendRegion(std::uint32_t region) noexcept;
  // The address here of a range in a region of the peer; null if the peer has sent no such region.
  std::byte* place(std::uint32_t region, std::uint64_t offset, std::size_t bytes);

  PeerNews news();
  void sendBye() noexcept;
  void sendAbort(int failedRank, std::string_view text) noexcept;
  static LocalMessage abortMessage(int failedRank, std::string_view text) noexcept;
  // The text of an abort.
  static std::string_view textOf(const LocalMessage& message);

 private:
  // Reads and handles all messages that have arrived.
  void receive();
  void handle(const LocalMessage& message, FileDescriptor fd);

  const int peer_;
  FileDescriptor socket_;
  std::atomic<std::uint64_t> sentRegions_{0};  // bit i: region i
  static_assert(ShareableMemory::kMaxRegions <= 64);
  std::mutex mutex_;  // guards the members below, and reading from the socket
  MappedRegions regions_;
  PeerNews news_;
};

}  // namespace xylem::transport
