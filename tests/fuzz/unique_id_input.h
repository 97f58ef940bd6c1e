#pragma once
// One input of the fuzzer of ids and addresses: the bytes of an id, an address as it travels between hosts,
// or what a person wrote into NCCL_COMM_ID. Names are not looked up.
//
//   feedUniqueId(bytes);   // true if it is an id or an address

#include <arpa/inet.h>

#include <string>

#include "runtime/bootstrap/unique_id.h"
#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/sockets/socket_address.h"

namespace xylem {

inline void feedIdBytes(Input input) {
  std::array<std::byte, UniqueId::kBytes> bytes{};
  const auto piece = input.piece(bytes.size());
  std::copy(piece.begin(), piece.end(), bytes.begin());
  const UniqueId id = UniqueId::fromBytes(bytes.data());
  require(UniqueId::fromBytes(id.bytes().data()).fingerprint() == id.fingerprint());
}

inline void feedAddress(Input input) {
  const SocketAddress address = SocketAddress::fromWire(input.take<WireAddress>());
  require(!address.text().empty() && !address.logText().empty());
  require(SocketAddress::fromWire(address.toWire()).sameHostAs(address));
  const UniqueId id(address, input.take<Secret>());
  auto bytes = id.bytes();
  require(UniqueId::fromBytes(bytes.data()).address().text() == address.text());
  // Whatever is changed in what counts is noticed.
  bytes[input.take<std::uint8_t>() % 80] ^= std::byte{1};
  try {
    UniqueId::fromBytes(bytes.data());
    require(false);
  } catch (const Error&) {
  }
}

inline void feedCommId(const std::string& text) {
  const HostAndPort parts = splitAddress(text);
  require(!parts.host.empty() && parts.port >= 0 && parts.port <= 65535);
  in6_addr any{};
  const bool numeric =
      inet_pton(AF_INET, parts.host.c_str(), &any) == 1 || inet_pton(AF_INET6, parts.host.c_str(), &any) == 1;
  if (!numeric) return;
  const UniqueId id = UniqueId::fromCommId(text, AF_UNSPEC, "password");
  require(id.address().port() == parts.port);
  require(SocketAddress::parse(id.address().text()).text() == id.address().text());
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
