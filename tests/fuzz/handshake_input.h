#pragma once
// One input of the handshake fuzzer: an unauthenticated peer connects or answers with these bytes, in pieces of
// any size, or a process between two ranks of a job changes some of their bytes. A peer that does not know the
// secret is never accepted, and every change is noticed.
//
//   feedHandshake(bytes);   // true if the bytes got as far as a hello

#include <map>

#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/sockets/handshake.h"

namespace xylem {

using HandshakeState = sockets::HandshakeSteps::State;

inline bool feedUnauthenticated(sockets::HandshakeSteps steps, Input input) {
  const bool answers = !steps.sends();
  while (steps.state() == HandshakeState::kUnderWay) {
    const std::span<std::byte> next = steps.next();
    require(!next.empty() && next.size() <= sizeof(sockets::Hello));
    const std::size_t most = std::min<std::size_t>(next.size(), 1 + input.take<std::uint8_t>());
    if (steps.sends()) {
      steps.moved(most);
    } else if (input.empty()) {
      steps.closed();
    } else {
      const auto piece = input.piece(most);
      std::copy(piece.begin(), piece.end(), next.begin());
      steps.moved(piece.size());
    }
  }
  require(steps.state() == HandshakeState::kFailed && !steps.reason().empty());
  return answers && steps.hasHello();
}

inline bool feedMeddler(Input input) {
  const sockets::Secret secret{42};
  sockets::HandshakeSteps ends[2] = {sockets::HandshakeSteps::call(secret, {}),
                                     sockets::HandshakeSteps::answer(secret)};
  std::map<std::size_t, std::byte> changes;
  const std::size_t most = 1 + input.take<std::uint8_t>();
  while (!input.empty()) {
    const auto at = input.take<std::uint8_t>();
    changes[at] = input.take<std::byte>();
  }
  bool changed = false;
  const auto underWay = [](const sockets::HandshakeSteps& end) {
    return end.state() == HandshakeState::kUnderWay;
  };
  for (std::size_t at = 0; underWay(ends[0]) && underWay(ends[1]);) {
    sockets::HandshakeSteps& from = ends[ends[0].sends() ? 0 : 1];
    sockets::HandshakeSteps& to = ends[ends[0].sends() ? 1 : 0];
    // When the last proof has gone, the caller is through before it has arrived.
    const std::size_t bytes = std::min({most, from.next().size(), to.next().size()});
    for (std::size_t i = 0; i < bytes; ++i, ++at) {
      const auto change = changes.find(at);
      to.next()[i] = from.next()[i] ^ (change == changes.end() ? std::byte{0} : change->second);
      changed |= to.next()[i] != from.next()[i];
    }
    from.moved(bytes);
    to.moved(bytes);
  }
  require(changed == (ends[1].state() != HandshakeState::kDone));
  require(changed || ends[0].state() == HandshakeState::kDone);
  return ends[1].hasHello();
}

inline bool feedHandshake(std::string_view bytes) {
  Input input(bytes);
  const sockets::Secret secret{42};
  switch (input.take<std::uint8_t>() % 3) {
    case 0:
      return feedUnauthenticated(sockets::HandshakeSteps::answer(secret), input);
    case 1:
      return feedUnauthenticated(sockets::HandshakeSteps::call(secret, {}), input);
    default:
      return feedMeddler(input);
  }
}

}  // namespace xylem
