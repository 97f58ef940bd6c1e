#pragma once
// How two ranks set queues over a network up: each offers the handles of the listeners of its receiving queues
// (the body of kOffer, see peer_message.h). When a rank closes the connection it says how many steps it has
// sent through each queue, as std::uint64_t (the body of kClose).
//
//   channel.send(PeerMessage::kOffer, serialize(offer));                     // the receiver of the queues
//   const NetOffer offer = netOfferOf(message.body, expectation);          // the sender

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sockets/socket_address.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

// A bound that no pair of ranks reaches.
constexpr std::size_t kMaxNetQueues = 1024;

struct NetOffer {
  StepBytes stepBytes{};
  bool pairsQueues = false;  // queues of both directions can share a link
  std::size_t sends = 0;     // queues that the rank which offers sends through
  // One for each queue that it receives through.
  std::vector<NetHandle> handles;
  // The addresses of the devices of all its queues, first of those it receives through; empty ones if the
  // network monitors its links itself.
  std::vector<sockets::WireAddress> addresses;
};

std::vector<std::byte> serialize(const NetOffer& offer);

// The queues that this rank wants. The peer's offer must fit.
struct NetExpectation {
  int peer = -1;
  std::size_t sends = 0;
  std::size_t receives = 0;
  StepBytes stepBytes{};
};
// The offer of the peer. Throws if it does not fit.
NetOffer netOfferOf(std::span<const std::byte> bytes, const NetExpectation& expected);

}  // namespace xylem::transport
