#pragma once
// One input of the fuzzer of the offers by which two ranks set queues over a network up, and of the handles in
// them.
//
//   feedNetMessage(bytes);   // true if it is a valid offer

#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/transport/net/net_message.h"
#include "runtime/transport/net/socket/socket_layout.h"

namespace xylem {

inline bool feedNetMessage(std::string_view text) {
  Input input(text);
  const std::size_t sends = input.take<std::uint8_t>() % 4;
  const std::size_t receives = input.take<std::uint8_t>() % 4;
  const auto bytes = input.piece(input.left());
  try {
    const transport::NetOffer offer =
        transport::netOfferOf(bytes, {1, sends, receives, transport::stepBytesFor(1 << 20)});
    const std::vector<transport::NetHandle>& handles = offer.handles;
    require(handles.size() == sends);
    for (const transport::NetHandle& handle : handles) {
      const transport::SocketHandle content = transport::SocketHandle::unpack(handle);
      require(content.sockets >= 1 && content.sockets <= transport::kMaxSockets);
      const transport::SocketHandle again = transport::SocketHandle::unpack(content.pack());
      require(again.sockets == content.sockets && again.nonce == content.nonce);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
