#pragma once
// The messages on the control connection of two ranks of different hosts. Each is the payload of a frame: a
// NetMessage and then items. Integers have the machine's byte order, as all ranks of a job have one
// architecture.
//
//   kind        items
//   kOffer      the handles of the queues that the sender of the message receives through
//   kBye        for each queue it sends through, the number of steps it has sent
//   kAbort      the characters of a sentence
//   kAsk        none; the reader answers at once
//   kAnswer     none
//   kAddresses  after the offer: the addresses of the devices of all queues, first of those it receives
//               through; an empty one if the network monitors its links itself
//
//   NetMessage message;
//   message.kind = NetMessage::kAbort;
//   stream.queue(FrameKind::kData, netMessage<char>(message, text));     // the sender
//   const auto text = netItemsOf<char>(frame.payload);                   // the reader

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/transport/net/network.h"
#include "runtime/transport/queue/queue.h"

namespace xylem::transport {

struct NetMessage {
  enum Kind : std::uint32_t { kOffer = 1, kBye = 2, kAbort = 3, kAsk = 4, kAnswer = 5, kAddresses = 6 };
  std::uint32_t kind = 0;
  std::int32_t failedRank = -1;  // kAbort
  std::uint32_t sends = 0;       // kOffer, kBye
  std::uint32_t receives = 0;
  StepBytes stepBytes{};          // kOffer
  std::uint32_t pairsQueues = 0;  // kOffer: 1 if queues of both directions can share a link
};

// A bound that no pair of ranks reaches.
constexpr std::size_t kMaxNetQueues = 1024;
constexpr std::size_t kMaxNetMessageBytes = sizeof(NetMessage) + kMaxNetQueues * sizeof(NetHandle);

// The bytes of a message and its items.
template <typename T>
std::vector<std::byte> netMessage(const NetMessage& message, std::span<const T> items) {
  std::vector<std::byte> bytes(sizeof message + items.size_bytes());
  std::memcpy(bytes.data(), &message, sizeof message);
  if (!items.empty()) std::memcpy(bytes.data() + sizeof message, items.data(), items.size_bytes());
  return bytes;
}

// The message at the start of `bytes`; its kind is 0 if there are too few bytes.
inline NetMessage netMessageOf(std::span<const std::byte> bytes) {
  NetMessage message;
  if (bytes.size() >= sizeof message) std::memcpy(&message, bytes.data(), sizeof message);
  return message;
}

// The items behind the message; an incomplete last one is left out.
template <typename T>
std::vector<T> netItemsOf(std::span<const std::byte> bytes) {
  if (bytes.size() <= sizeof(NetMessage)) return {};
  const std::span<const std::byte> rest = bytes.subspan(sizeof(NetMessage));
  std::vector<T> items(rest.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), rest.data(), items.size() * sizeof(T));
  return items;
}

// The queues that this rank wants. The peer's offer must fit.
struct NetExpectation {
  int peer = -1;
  std::size_t sends = 0;
  std::size_t receives = 0;
  StepBytes stepBytes{};
};
// The handles of an offer, one for each queue that this rank sends through. Throws if the offer does not
// fit.
std::vector<NetHandle> handlesOf(std::span<const std::byte> bytes, const NetExpectation& expected);

}  // namespace xylem::transport
