#include "runtime/transport/net/net_message.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/transport/session/peer_message.h"

namespace xylem::transport {
namespace {

// The start of an offer's bytes; handles and addresses follow.
struct OfferHeader {
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
  StepBytes stepBytes{};
  std::uint32_t pairsQueues = 0;
  std::uint32_t unused = 0;
};

}  // namespace

std::vector<std::byte> serialize(const NetOffer& offer) {
  OfferHeader header;
  header.sends = static_cast<std::uint32_t>(offer.sends);
  header.receives = static_cast<std::uint32_t>(offer.handles.size());
  header.stepBytes = offer.stepBytes;
  header.pairsQueues = offer.pairsQueues ? 1 : 0;
  std::vector<std::byte> bytes = bodyOf(header);
  for (const auto part : {std::as_bytes(std::span(offer.handles)), std::as_bytes(std::span(offer.addresses))})
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

NetOffer netOfferOf(std::span<const std::byte> bytes, const NetExpectation& expected) {
  const auto header = valueOf<OfferHeader>(bytes);
  bytes = bytes.subspan(std::min(bytes.size(), sizeof header));
  const std::size_t ofHandles = std::min<std::size_t>(header.receives, kMaxNetQueues) * sizeof(NetHandle);
  if (header.receives != expected.sends || header.sends != expected.receives || bytes.size() < ofHandles)
    throw Error(
        ResultCode::kInvalidUsage,
        "rank {} wants {} queues from this rank and {} to it, which wants {} and {}: do all ranks have "
        "the same settings?",
        expected.peer, header.receives, header.sends, expected.sends, expected.receives);
  if (header.stepBytes != expected.stepBytes)
    throw Error(
        ResultCode::kInvalidUsage,
        "rank {} has queues of {}-byte steps where this rank has {}-byte ones: is NCCL_BUFFSIZE the same "
        "on all ranks?",
        expected.peer, header.stepBytes[Protocol::kSimple], expected.stepBytes[Protocol::kSimple]);
  return {.stepBytes = header.stepBytes,
          .pairsQueues = header.pairsQueues != 0,
          .sends = header.sends,
          .handles = itemsOf<NetHandle>(bytes.first(ofHandles)),
          .addresses = itemsOf<sockets::WireAddress>(bytes.subspan(ofHandles))};
}

}  // namespace xylem::transport
