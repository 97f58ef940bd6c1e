#include "runtime/transport/net/net_message.h"

namespace xylem::transport {

std::vector<NetHandle> handlesOf(std::span<const std::byte> bytes, const NetExpectation& expected) {
  const NetMessage message = netMessageOf(bytes);
  std::vector<NetHandle> handles = netItemsOf<NetHandle>(bytes);
  if (message.kind != NetMessage::kOffer || message.receives != expected.sends ||
      message.sends != expected.receives || handles.size() != expected.sends)
    throw Error(
        ResultCode::kInvalidUsage,
        "rank {} wants {} queues from this rank and {} to it, which wants {} and {}: do all ranks have "
        "the same settings?",
        expected.peer, message.receives, message.sends, expected.sends, expected.receives);
  if (message.stepBytes != expected.stepBytes)
    throw Error(
        ResultCode::kInvalidUsage,
        "rank {} has queues of {}-byte steps where this rank has {}-byte ones: is NCCL_BUFFSIZE the same "
        "on all ranks?",
        expected.peer, message.stepBytes[Protocol::kSimple], expected.stepBytes[Protocol::kSimple]);
  return handles;
}

}  // namespace xylem::transport
