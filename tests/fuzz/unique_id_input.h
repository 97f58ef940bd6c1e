#pragma once
// One input of the fuzzer of ids and addresses: the bytes of an id, an address as it travels between hosts,
// or what a person wrote into NCCL_COMM_ID. Names are not looked up.
//
//   feedUniqueId(bytes);   // true if it is an id or an address

#include <arpa/inet.h>

#include <string>

#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/bootstrap/unique_id.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

inline void feedIdBytes(Input input) {
  std::array<std::byte, bootstrap::UniqueId::kBytes> bytes{};
  const auto piece = input.piece(bytes.size());
  std::copy(piece.begin(), piece.end(), bytes.begin());
  const bootstrap::UniqueId id = bootstrap::UniqueId::fromBytes(bytes.data());
  require(bootstrap::UniqueId::fromBytes(id.bytes().data()).fingerprint() == id.fingerprint());
}

inline void feedAddress(Input input) {
  const sockets::SocketAddress address = sockets::SocketAddress::fromWire(input.take<sockets::WireAddress>());
  require(!address.text().empty() && !address.logText().empty());
  require(sockets::SocketAddress::fromWire(address.toWire()).sameHostAs(address));
  const bootstrap::UniqueId id(address, input.take<sockets::Secret>());
  auto bytes = id.bytes();
  require(bootstrap::UniqueId::fromBytes(bytes.data()).address().text() == address.text());
  // A change of any byte that counts is noticed.
  bytes[input.take<std::uint8_t>() % 80] ^= std::byte{1};
  try {
    bootstrap::UniqueId::fromBytes(bytes.data());
    require(false);
  } catch (const Error&) {
  }
}

inline void feedCommId(const std::string& text) {
  const sockets::HostAndPort parts = sockets::splitAddress(text);
  require(!parts.host.empty() && parts.port >= 0 && parts.port <= 65535);
  in6_addr any{};
  const bool numeric =
      inet_pton(AF_INET, parts.host.c_str(), &any) == 1 || inet_pton(AF_INET6, parts.host.c_str(), &any) == 1;
  if (!numeric) return;
  const bootstrap::UniqueId id = bootstrap::UniqueId::fromCommId(text, AF_UNSPEC, "password");
  require(id.address().port() == parts.port);
  require(sockets::SocketAddress::parse(id.address().text()).text() == id.address().text());
}

inline bool feedUniqueId(std::string_view bytes) {
  Input input(bytes);
  try {
    switch (input.take<std::uint8_t>() % 3) {
      case 0:
        feedIdBytes(input);
        break;
      case 1:
        feedAddress(input);
        break;
      default:
        feedCommId(std::string(bytes.substr(std::min<std::size_t>(1, bytes.size()))));
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
