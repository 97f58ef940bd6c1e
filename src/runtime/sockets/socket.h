#pragma once
// TCP sockets that never block: opening them, and moving bytes as far as they go.

#include <chrono>
#include <cstddef>
#include <span>

#include "core/file_descriptor.h"
#include "runtime/sockets/arrival.h"
#include "runtime/sockets/congestion.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

// Listens at `address`; port 0 lets the system choose one.
FileDescriptor listenTcp(const SocketAddress& address, const Congestion& congestion = {});
// Starts to connect; `from`, if not null, is the address of the interface to call from, where that can reach
// `to`. Ready for writing once connected; none if it was refused at once.
FileDescriptor startConnect(const SocketAddress& to, const SocketAddress* from,
                            const Congestion& congestion = {});
// The outcome once it is ready for writing: 0, or an errno value.
int connectOutcome(int socket);
// Who waits there.
Arrival acceptTcp(int listener);

// Lets the connection break once the other host has not answered for about `silence`. While there is nothing
// to send, it is asked; a peer that is there but does not read may take as long as it likes.
void breakWhenSilent(int socket, std::chrono::seconds silence) noexcept;
// Also while something is to be sent: for connections whose peer never stops reading for as long.
void breakWhenUnanswered(int socket, std::chrono::seconds silence) noexcept;

// How many bytes went; 0: none at the moment; -1: the connection is closed or broken.
int sendSome(int socket, std::span<const std::byte> bytes) noexcept;
int receiveSome(int socket, std::span<std::byte> bytes) noexcept;
// As receiveSome, but the bytes stay.
int peekSome(int socket, std::span<std::byte> bytes) noexcept;

// Who is at the other end, for messages.
std::string remoteText(int socket);

}  // namespace xylem
