#pragma once
// An IPv4 or IPv6 address with a port.
//
//   SocketAddress root = SocketAddress::parse("10.0.0.1:9999");   // also "host:port", "[fe80::1%eth0]:9999"
//   root.text()                                                   // "10.0.0.1:9999"

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

namespace xylem::sockets {

// An address as bytes that travel between hosts.
struct WireAddress {
  std::uint16_t family = 0;  // 4 or 6; 0: none
  std::uint16_t port = 0;
  std::uint32_t scope = 0;
  std::array<std::uint8_t, 16> bytes{};
};
static_assert(sizeof(WireAddress) == 24);

// An address as people write it, in its parts; names are not resolved.
struct HostAndPort {
  std::string host;
  int port = 0;
};

// splitAddress("[fe80::1%eth0]:9999") is {"fe80::1%eth0", 9999}. Throws if there is no host, or the port is
// not a number from 0 to 65535.
HostAndPort splitAddress(const std::string& text);

class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t bytes);
  // Resolves names. `family` restricts to AF_INET or AF_INET6 unless it is AF_UNSPEC. Throws if there is no
  // such address.
  static SocketAddress parse(const std::string& text, int family = AF_UNSPEC);
  // Throws if it does not hold an address.
  static SocketAddress fromWire(const WireAddress& wire);
  // The local address of a socket.
  static SocketAddress boundTo(int socket);

  WireAddress toWire() const;
  std::string text() const;
  // As NCCL's log writes it: `10.0.0.1<4711>`.
  std::string logText() const;
  int family() const { return storage_.ss_family; }
  int port() const;
  void setPort(int port);
  bool loopback() const;
  bool linkLocal() const;
  // The number of the link of a link-local address; valid on this host only.
  std::uint32_t scope() const;
  void setScope(std::uint32_t scope);
  bool sameHostAs(const SocketAddress& other) const;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;

 private:
  sockaddr_storage storage_{};
};

}  // namespace xylem::sockets
