#pragma once
// TCP sockets that never block: opening them, and moving bytes as far as they go.

#include <cstddef>
#include <span>

#include "bootstrap/socket_address.h"
#include "core/file_descriptor.h"

namespace xylem {

// Listens at `address`; port 0 lets the system choose one.
FileDescriptor listenTcp(const SocketAddress& address);
// Starts to connect; `from`, if not null, is the local address to use. Ready for writing once connected or
// refused.
FileDescriptor startConnect(const SocketAddress& to, const SocketAddress* from);
// The outcome once it is ready for writing: 0, or an errno value.
int connectOutcome(int socket);
// A waiting connection, or none.
FileDescriptor acceptTcp(int listener);

// How many bytes went; 0: none at the moment; -1: the connection is closed or broken.
int sendSome(int socket, std::span<const std::byte> bytes) noexcept;
int receiveSome(int socket, std::span<std::byte> bytes) noexcept;
// As receiveSome, but the bytes stay.
int peekSome(int socket, std::span<std::byte> bytes) noexcept;

// Who is at the other end, for messages.
std::string remoteText(int socket);

}  // namespace xylem
