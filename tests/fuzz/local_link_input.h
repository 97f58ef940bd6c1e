#pragma once
// One input of the fuzzer of messages between ranks of a host: whole or cut off, with all kinds of file
// descriptors or none, and accesses to the regions of memory that they hand over.
//
//   feedLocalLink(bytes);   // true if nothing was refused

#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdlib>

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/transport/local/local_link.h"

namespace xylem {

constexpr std::size_t kPeersBytes = 8192;

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

struct LocalPair {
  LocalPair() {
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    peer = FileDescriptor(ends[0]);
    ours = FileDescriptor(ends[1]);
  }
  FileDescriptor peer, ours;
};

inline void feedMessages(transport::LocalLink& link, int peer, Input input) {
  while (!input.empty()) {
    switch (input.take<std::uint8_t>() % 4) {
      case 0: {
        transport::LocalMessage message;
        const int fd = descriptorOf(input.take<std::uint8_t>());
        const std::size_t bytes = input.take<std::uint16_t>() % (sizeof message + 1);
        const auto piece = input.piece(bytes);
        if (!piece.empty()) std::memcpy(static_cast<void*>(&message), piece.data(), piece.size());
        transport::sendMessage(peer, &message, sizeof message, fd);
        break;
      }
      case 1: {
        const auto piece = input.piece(input.take<std::uint16_t>() % 512);
        if (!piece.empty()) transport::sendMessage(peer, piece.data(), piece.size());
        break;
      }
      case 2: {
        const auto region = input.take<std::uint32_t>();
        const auto offset = input.take<std::uint64_t>();
        const auto bytes = input.take<std::uint16_t>();
        if (const std::byte* data = link.place(region, offset, bytes)) {
          require(offset + bytes <= kPeersBytes);
          touch(data, bytes);
        }
        break;
      }
      default:
        require(link.news().text.size() <= sizeof(transport::LocalMessage::text));
    }
  }
  link.news();
}

inline bool feedLocalLink(std::string_view bytes) {
  LocalPair pair;
  transport::LocalLink link(1, std::move(pair.ours));
  try {
    feedMessages(link, pair.peer.get(), Input(bytes));
    return link.news().state == transport::PeerState::kThere;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
