#include "runtime/sockets/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace xylem::sockets {
namespace {

sockaddr_in& four(sockaddr_storage& s) { return reinterpret_cast<sockaddr_in&>(s); }
sockaddr_in6& six(sockaddr_storage& s) { return reinterpret_cast<sockaddr_in6&>(s); }
const sockaddr_in& four(const sockaddr_storage& s) { return reinterpret_cast<const sockaddr_in&>(s); }
const sockaddr_in6& six(const sockaddr_storage& s) { return reinterpret_cast<const sockaddr_in6&>(s); }

[[noreturn]] void throwBadAddress(const std::string& text, const std::string& why) {
  throw Error(ResultCode::kInvalidUsage,
              "cannot use `{}` as an address: {}; expected host:port or [IPv6]:port", text, why);
}

}  // namespace

HostAndPort splitAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    throwBadAddress(text, "there is no port");
  std::string host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') throwBadAddress(text, "the brackets hold no address");
    host = host.substr(1, host.size() - 2);
  }
  // getaddrinfo would take a zero byte for the end of the name.
  if (host.find('\0') != std::string::npos) throwBadAddress(text, "there is a zero byte in it");
  const std::string port = text.substr(colon + 1);
  if (port.find_first_not_of("0123456789") != std::string::npos || port.size() > 5 || std::stoi(port) > 65535)
    throwBadAddress(text, "the port is not a number from 0 to 65535");
  return {host, std::stoi(port)};
}

SocketAddress::SocketAddress(const sockaddr* address, socklen_t bytes) {
  std::memcpy(&storage_, address, std::min<std::size_t>(bytes, sizeof storage_));
}

SocketAddress SocketAddress::parse(const std::string& text, int family) {
  const HostAndPort parts = splitAddress(text);
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int status = getaddrinfo(parts.host.c_str(), nullptr, &hints, &found); status != 0)
    throwBadAddress(
        text,
        status == EAI_NONAME
            ? fmt::format("there is no host `{}` for this machine (look into DNS and /etc/hosts)", parts.host)
            : std::string(gai_strerror(status)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &freeaddrinfo);
  SocketAddress address(found->ai_addr, found->ai_addrlen);
  address.setPort(parts.port);
  return address;
}

SocketAddress SocketAddress::fromWire(const WireAddress& wire) {
  SocketAddress address;
  if (wire.family == 4) {
    four(address.storage_).sin_family = AF_INET;
    std::memcpy(&four(address.storage_).sin_addr, wire.bytes.data(), 4);
  } else if (wire.family == 6) {
    six(address.storage_).sin6_family = AF_INET6;
    std::memcpy(&six(address.storage_).sin6_addr, wire.bytes.data(), 16);
    six(address.storage_).sin6_scope_id = wire.scope;
  } else {
    throw Error(ResultCode::kInvalidArgument, "there is no address of family {}", wire.family);
  }
  address.setPort(wire.port);
  return address;
}

SocketAddress SocketAddress::boundTo(int socket) {
  SocketAddress address;
  socklen_t bytes = sizeof address.storage_;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &bytes) != 0)
    throw Error(ResultCode::kSystemError, "cannot ask for a socket's address: {}", errnoText(errno));
  return address;
}

WireAddress SocketAddress::toWire() const {
  WireAddress wire;
  wire.port = static_cast<std::uint16_t>(port());
  if (family() == AF_INET) {
    wire.family = 4;
    std::memcpy(wire.bytes.data(), &four(storage_).sin_addr, 4);
  } else if (family() == AF_INET6) {
    wire.family = 6;
    wire.scope = six(storage_).sin6_scope_id;
    std::memcpy(wire.bytes.data(), &six(storage_).sin6_addr, 16);
  }
  return wire;
}

std::string SocketAddress::text() const {
  char host[NI_MAXHOST] = "";
  if (getnameinfo(get(), size(), host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "(no address)";
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host, port()) : fmt::format("{}:{}", host, port());
}

std::string SocketAddress::logText() const {
  char host[NI_MAXHOST] = "";
  if (getnameinfo(get(), size(), host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "(no address)";
  return fmt::format("{}<{}>", host, port());
}

int SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? six(storage_).sin6_port : four(storage_).sin_port);
}

void SocketAddress::setPort(int port) {
  const std::uint16_t number = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET6)
    six(storage_).sin6_port = number;
  else
    four(storage_).sin_port = number;
}

bool SocketAddress::loopback() const {
  if (family() == AF_INET) return (ntohl(four(storage_).sin_addr.s_addr) >> 24) == 127;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six(storage_).sin6_addr);
}

bool SocketAddress::linkLocal() const {
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six(storage_).sin6_addr);
}

std::uint32_t SocketAddress::scope() const { return family() == AF_INET6 ? six(storage_).sin6_scope_id : 0; }

void SocketAddress::setScope(std::uint32_t scope) {
  if (family() == AF_INET6) six(storage_).sin6_scope_id = scope;
}

bool SocketAddress::sameHostAs(const SocketAddress& other) const {
  const WireAddress a = toWire();
  const WireAddress b = other.toWire();
  return a.family == b.family && a.bytes == b.bytes;
}

socklen_t SocketAddress::size() const {
  return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace xylem::sockets
