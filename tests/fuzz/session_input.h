#pragma once
// One input of the fuzzer of sessions between ranks: messages of all kinds, whole, cut off or garbage, with all
// kinds of file descriptors or none, and accesses to the regions of memory that they hand over.
//
//   feedSession(bytes);   // true if the session is still open

#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/transport/session/peer_session.h"
#include "runtime/transport/session/unix_socket.h"

namespace xylem {

constexpr std::size_t kPeersBytes = 8192;
// The text of an abort is cut before that.
constexpr std::size_t kMaxFuzzedBytes = 2 * transport::kMaxAbortBytes;

// Memory as a peer hands it over.
inline const transport::SharedMemory& peersMemory() {
  static const transport::SharedMemory memory = transport::SharedMemory::create("xylem fuzz", kPeersBytes);
  return memory;
}

// The descriptor that comes with a message: none, the right memory, memory that can shrink, or no memory.
inline int descriptorOf(unsigned kind) {
  static const FileDescriptor unsealed(memfd_create("xylem fuzz", MFD_CLOEXEC));
  switch (kind % 4) {
    case 1:
      return peersMemory().fd();
    case 2:
      return unsealed.get();
    case 3:
      return 2;
    default:
      return -1;
  }
}

inline void touch(const std::byte* data, std::size_t bytes) {
  volatile std::byte sink{};
  if (bytes > 0) sink = data[0] ^ data[bytes - 1];
  static_cast<void>(sink);
}

// A session of rank 0, and the other end of its connection, at which anything can be sent.
class FuzzedSession {
 public:
  explicit FuzzedSession(int peer = 1) {
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    peer_ = FileDescriptor(ends[0]);
    session_ = std::make_shared<transport::PeerSession>(
        0, peer, transport::messagesOverLocalSocket(FileDescriptor(ends[1])));
  }

  const std::shared_ptr<transport::PeerSession>& session() const { return session_; }
  void say(std::span<const std::byte> bytes, int fd = -1) const {
    if (!bytes.empty()) transport::sendMessage(peer_.get(), bytes.data(), bytes.size(), fd);
  }
  void say(const transport::PeerMessage& message, int fd = -1) const {
    say(transport::serialize(message), fd);
  }
  // Hands over memory as region 0.
  void giveRegion(std::size_t bytes, int fd) const {
    transport::PeerMessage message{.kind = transport::PeerMessage::kRegion};
    message.body = transport::bodyOf(transport::RegionNote{bytes, 0, 0});
    say(message, fd);
  }

 private:
  FileDescriptor peer_;
  std::shared_ptr<transport::PeerSession> session_;
};

inline void feedMessages(const FuzzedSession& fuzzed, Input input) {
  transport::PeerSession& session = *fuzzed.session();
  transport::SessionChannel channel(fuzzed.session(), {.purpose = 0, .kind = transport::ChannelKind::kP2p});
  while (!input.empty()) {
    switch (input.take<std::uint8_t>() % 6) {
      case 0: {
        const int fd = descriptorOf(input.take<std::uint8_t>());
        fuzzed.say(input.piece(input.take<std::uint16_t>() % (kMaxFuzzedBytes + 1)), fd);
        break;
      }
      case 1: {
        const std::size_t bytes = input.take<std::uint32_t>() % (transport::kMaxPeerMessageBytes + 2);
        fuzzed.say(std::vector<std::byte>(bytes, input.take<std::byte>()));
        break;
      }
      case 2: {
        const auto region = input.take<std::uint32_t>();
        const auto offset = input.take<std::uint64_t>();
        const auto bytes = input.take<std::uint16_t>();
        if (const std::byte* data = session.place(region, offset, bytes)) {
          require(offset + bytes <= kPeersBytes);
          touch(data, bytes);
        }
        break;
      }
      case 3:
        session.ask();
        require(session.asked() || !session.answered());
        break;
      case 4:
        if (const auto message = channel.take())
          require(message->body.size() <= transport::kMaxPeerMessageBytes);
        break;
      default:
        require(session.news().text.size() <= transport::kMaxAbortBytes);
    }
  }
}

inline bool feedSession(std::string_view bytes) {
  const FuzzedSession fuzzed;
  try {
    feedMessages(fuzzed, Input(bytes));
    return fuzzed.session()->news().state == transport::PeerState::kThere;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
