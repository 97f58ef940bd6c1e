#pragma once
// TCP sockets that never block: opening and accepting them, and sending and receiving what they take or have.
//
//   const FileDescriptor listener = listenTcp(SocketAddress::parse("127.0.0.1:0"));
//   FileDescriptor socket = startConnect(SocketAddress::boundTo(listener.get()), nullptr);
//   // ... poll(2) until it is writable ...
//   if (connectOutcome(socket.get()) == 0) sendSome(socket.get(), bytes);

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "core/file_descriptor.h"
#include "runtime/sockets/congestion.h"
#include "runtime/sockets/socket_address.h"

namespace xylem::sockets {

// The outcome of accepting a connection at a listening socket.
struct AcceptResult {
  enum class Kind {
    kNone,           // no connection waits
    kConnection,     // `socket` is connected
    kRefused,        // a connection was accepted and closed: see `reason`
    kNoDescriptors,  // a connection waits, but too many files are open
  };
  Kind kind = Kind::kNone;
  FileDescriptor socket{};
  std::string from{};  // for messages
  std::string reason{};
};

// kNone or kNoDescriptors, by the errno that accept(2) failed with.
AcceptResult acceptFailure(int error);

// Listens at `address`; port 0 lets the system choose one.
FileDescriptor listenTcp(const SocketAddress& address, const Congestion& congestion = {});
// Starts to connect. `from`, if not null, is the address of the interface to connect from; it is ignored
// where it cannot reach `to`. The socket is writable once connected. Returns no socket if it was refused at
// once.
FileDescriptor startConnect(const SocketAddress& to, const SocketAddress* from,
                            const Congestion& congestion = {});
// The outcome of startConnect once the socket is writable: 0, or an errno value.
int connectOutcome(int socket);
AcceptResult acceptTcp(int listener);

// Breaks the connection once the other host has not answered for about `silence`. The kernel probes an idle
// connection; a peer that answers probes but does not read is not limited.
void breakWhenSilent(int socket, std::chrono::seconds silence) noexcept;
// The same, and also breaks a connection on which sent data has not been acknowledged for that time. Only for
// connections whose peer never stops reading that long.
void breakWhenUnanswered(int socket, std::chrono::seconds silence) noexcept;

// Return the number of bytes moved; 0 if none can be moved now; -1 if the connection is closed or broken.
int sendSome(int socket, std::span<const std::byte> bytes) noexcept;
int receiveSome(int socket, std::span<std::byte> bytes) noexcept;

// The address of the other end, for messages.
std::string remoteText(int socket);

}  // namespace xylem::sockets
