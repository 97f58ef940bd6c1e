#pragma once
// What the two ends of a network connection tell each other over their control connection, as the payload of
// frames. All integers as the machine has them: ranks of one job run on one architecture.
//
//   kOffer   then the handles of the queues that the sender of the message receives through
//   kBye     then, for each queue it sends through, how many steps it has sent
//   kAbort   then a sentence
//   kAsk     nothing: whoever reads it answers
//   kAnswer  nothing
//   kPlaces  after the offer: then for each queue, those that the sender of the message receives through
//            first, the address of its device; none where the network sees to its ways itself

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/transport/net/network.h"
#include "runtime/transport/queue/queue.h"

namespace xylem {

struct NetMessage {
  enum Kind : std::uint32_t { kOffer = 1, kBye = 2, kAbort = 3, kAsk = 4, kAnswer = 5, kPlaces = 6 };
  std::uint32_t kind = 0;
  std::int32_t culprit = -1;  // kAbort
  std::uint32_t sends = 0;    // kOffer, kBye
  std::uint32_t receives = 0;
  StepBytes stepBytes{};          // kOffer
  std::uint32_t pairsQueues = 0;  // kOffer: 1 if queues of both directions can share a link
};

// More queues than any pair of ranks has.
constexpr std::size_t kMostNetQueues = 1024;
constexpr std::size_t kMostNetMessage = sizeof(NetMessage) + kMostNetQueues * sizeof(NetHandle);

// A message and what follows it.
template <typename T>
std::vector<std::byte> netMessage(const NetMessage& message, std::span<const T> items) {
  std::vector<std::byte> bytes(sizeof message + items.size_bytes());
  std::memcpy(bytes.data(), &message, sizeof message);
  if (!items.empty()) std::memcpy(bytes.data() + sizeof message, items.data(), items.size_bytes());
  return bytes;
}

// Its head; the kind is 0 if it is too short.
inline NetMessage netMessageOf(std::span<const std::byte> bytes) {
  NetMessage message;
  if (bytes.size() >= sizeof message) std::memcpy(&message, bytes.data(), sizeof message);
  return message;
}

// What follows the head, as far as it makes whole items.
template <typename T>
std::vector<T> netItemsOf(std::span<const std::byte> bytes) {
  if (bytes.size() <= sizeof(NetMessage)) return {};
  const std::span<const std::byte> rest = bytes.subspan(sizeof(NetMessage));
  std::vector<T> items(rest.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), rest.data(), items.size() * sizeof(T));
  return items;
}

// The queues that this rank wants, against which the peer's offer is held.
struct NetExpectation {
  int peer = -1;
  std::size_t sends = 0;
  std::size_t receives = 0;
  StepBytes stepBytes{};
};
// The handles of an offer, one for each queue that this rank sends through. Throws if the two do not fit.
std::vector<NetHandle> handlesOf(std::span<const std::byte> bytes, const NetExpectation& expected);

}  // namespace xylem
