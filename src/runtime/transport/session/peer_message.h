#pragma once
// The messages that two ranks send each other over their session (peer_session.h): everything but data. A
// message is a header and a body of bytes; over a local socket a file descriptor can come with it. Some
// messages belong to a channel of the session, which stands for the queues of one connection; the others
// concern the pair of ranks.
//
//   kind      channel  meaning and body
//   kBegin    no       the lower rank has chosen this connection for the session
//   kOffer    yes      what the sender brings to the queues: LocalOffer, NetOffer or ProxyRequest
//   kConfirm  yes      a second message of a transport's set-up: LocalReach, or a descriptor alone
//   kClose    yes      the sender closes the channel in order; per queue, the number of steps it has sent
//   kCancel   yes      the sender closes the channel before its queues are set up
//   kRegion   no       a region of ShareableMemory, with its descriptor: RegionNote
//   kAsk      no       is the reader at work? It answers when it reads this
//   kAnswer   no       the answer
//   kAbort    no       the sender gives up because of `rank`; a sentence
//   kBye      no       the sender leaves in order; nothing more comes
//   kLeft     no       the sender has left but for channels that outlive it (SessionChannel::outliveRank)
//
//   const std::vector<std::byte> bytes = serialize({.kind = PeerMessage::kAbort, .rank = 3, .body = ...});
//   const PeerMessage message = parseMessage(bytes);                              // at the other rank
//
// Integers have the machine's byte order, as all ranks of a job have one architecture.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/file_descriptor.h"

namespace xylem::transport {

struct PeerMessage {
  enum Kind : std::uint32_t {
    kBegin = 1,
    kOffer,
    kConfirm,
    kClose,
    kCancel,
    kRegion,
    kAsk,
    kAnswer,
    kAbort,
    kBye,
    kLeft,
  };
  Kind kind = kAsk;
  std::uint32_t channel = 0;
  std::int32_t rank = -1;  // kAbort: the rank that failed first
  std::vector<std::byte> body{};
  FileDescriptor fd{};  // of a received message; invalid if none came with it

  // The body as text.
  std::string text() const { return {reinterpret_cast<const char*>(body.data()), body.size()}; }
};

// A longer message is a mistake. An offer of a thousand queues fits, and a local socket takes it whole.
constexpr std::size_t kMaxPeerMessageBytes = std::size_t{190} << 10;
constexpr std::size_t kMaxAbortBytes = 4096;

// The message without its descriptor.
std::vector<std::byte> serialize(const PeerMessage& message);
// The other direction. Throws if the bytes are no message.
PeerMessage parseMessage(std::span<const std::byte> bytes);

PeerMessage abortMessage(int failedRank, std::string_view text);

// A body that is one value, or an array of them.
template <typename T>
std::vector<std::byte> bodyOf(std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::span<const std::byte> bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}
template <typename T>
std::vector<std::byte> bodyOf(const T& value) {
  return bodyOf(std::span<const T>(&value, 1));
}
// The values of a body; an incomplete last one is left out.
template <typename T>
std::vector<T> itemsOf(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) std::memcpy(static_cast<void*>(items.data()), bytes.data(), items.size() * sizeof(T));
  return items;
}
// The value at the start of a body; T{} if the body is too short.
template <typename T>
T valueOf(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  if (bytes.size() >= sizeof value) std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
  return value;
}

}  // namespace xylem::transport
