#include "runtime/transport/session/peer_message.h"

#include <algorithm>

#include "core/error.h"

namespace xylem::transport {
namespace {

struct Header {
  std::uint32_t kind = 0;
  std::uint32_t channel = 0;
  std::int32_t rank = -1;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Header) == 16);

}  // namespace

std::vector<std::byte> serialize(const PeerMessage& message) {
  const Header header{message.kind, message.channel, message.rank};
  std::vector<std::byte> bytes(sizeof header + message.body.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!message.body.empty())
    std::memcpy(bytes.data() + sizeof header, message.body.data(), message.body.size());
  if (bytes.size() > kMaxPeerMessageBytes)
    throw Error(ResultCode::kInternalError, "a message to a rank has {} bytes; at most {} fit", bytes.size(),
                kMaxPeerMessageBytes);
  return bytes;
}

PeerMessage parseMessage(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header) || bytes.size() > kMaxPeerMessageBytes)
    throw Error(ResultCode::kRemoteError, "a message of {} bytes is none of a session", bytes.size());
  const auto header = valueOf<Header>(bytes);
  if (header.kind < PeerMessage::kBegin || header.kind > PeerMessage::kLeft)
    throw Error(ResultCode::kRemoteError, "a session has no messages of kind {}", header.kind);
  PeerMessage message{static_cast<PeerMessage::Kind>(header.kind), header.channel, header.rank};
  bytes = bytes.subspan(sizeof header);
  if (message.kind == PeerMessage::kAbort) bytes = bytes.first(std::min(bytes.size(), kMaxAbortBytes));
  message.body.assign(bytes.begin(), bytes.end());
  return message;
}

PeerMessage abortMessage(int failedRank, std::string_view text) {
  text = text.substr(0, kMaxAbortBytes);
  return {PeerMessage::kAbort, 0, failedRank, bodyOf(std::span<const char>(text.data(), text.size()))};
}

}  // namespace xylem::transport
