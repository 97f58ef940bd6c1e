#include "runtime/api/data_call.h"

#include <array>

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/captured_calls.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/group_members.h"
#include "runtime/comm/issue/user_ops.h"

namespace xylem {
namespace {

// Which buffers a call uses: all ranks or only its peer, and one block of `count` elements or one of each
// rank.
struct Buffers {
  bool sends = true, receives = true;
  bool onlyPeerSends = false, onlyPeerReceives = false;
  bool sendsBlocks = false, receivesBlocks = false;
};

constexpr auto kBuffers = [] {
  std::array<Buffers, kFunctions> buffers;
  const auto of = [&buffers](Function function) -> Buffers& {
    return buffers[static_cast<std::size_t>(function)];
  };
  of(Function::kBroadcast).onlyPeerSends = true;
  of(Function::kReduce).onlyPeerReceives = true;
  of(Function::kAllGather).receivesBlocks = true;
  of(Function::kReduceScatter).sendsBlocks = true;
  of(Function::kAlltoAll).sendsBlocks = of(Function::kAlltoAll).receivesBlocks = true;
  of(Function::kSend).receives = false;
  of(Function::kRecv).sends = false;
  return buffers;
}();

void checkBuffers(const DataCall& call, DataType type, int rank, int ranks) {
  const Buffers& buffers = kBuffers[static_cast<std::size_t>(call.function)];
  const std::size_t all =
      bytesOf(call.count, type, buffers.sendsBlocks || buffers.receivesBlocks ? ranks : 1, call.name);
  if (all == 0) return;
  const bool sends = buffers.sends && (!buffers.onlyPeerSends || rank == call.peer);
  const bool receives = buffers.receives && (!buffers.onlyPeerReceives || rank == call.peer);
  if (sends) requireNotNull(call.send, call.name, "sendbuff");
  if (receives) requireNotNull(call.receive, call.name, "recvbuff");
  if (!sends || !receives) return;
  const std::size_t block = call.count * elementBytes(type);
  const std::size_t sendBytes = buffers.sendsBlocks ? all : block;
  const std::size_t receiveBytes = buffers.receivesBlocks ? all : block;
  // Where in place is, in the larger one.
  std::size_t offset = 0;
  if (buffers.sendsBlocks != buffers.receivesBlocks) offset = block * static_cast<std::size_t>(rank);
  if (call.function == Function::kAlltoAll) offset = sendBytes;  // never
  checkApart({call.send, sendBytes}, {call.receive, receiveBytes}, offset, call.name);
}

// To its group, or to the graph that the stream is captured into.
void hand(ncclComm& handle, CudaStream& stream, const CommOperation& operation, const char* function) {
  if (stream.captured() || groupDepth() > 0) {
    CapturedCalls& captured = CapturedCalls::ofThread();
    const bool any = stream.captured() || !captured.empty();
    if (any && GroupMembers::ofThread().uses(handle) && captured.has(handle) != stream.captured())
      throw Error(
          ResultCode::kInvalidUsage,
          "{}: the calls of a group on one communicator are all on streams that are captured, or none",
          function);
    if (stream.captured()) return captured.add(handle, stream, operation);
  }
  inCall(function, [&] { stream.order(); });
  submit(*handle.impl, operation);
}

}  // namespace

ncclResult_t issue(ncclComm_t comm, const DataCall& call) {
  return guardInGroup([&] {
    GroupMembers* const group = groupDepth() > 0 ? &GroupMembers::ofThread() : nullptr;
    CommUse use(comm, call.name, group != nullptr && group->usedLast(comm));
    requireReady(*use, call.name);
    Communicator& communicator = *use->impl;
    const DataType type = readType(call.type, call.name);
    if (call.peerName != nullptr) checkRank(call.peer, communicator.ranks(), call.name, call.peerName);
    checkBuffers(call, type, communicator.rank(), communicator.ranks());
    CudaStream& stream = readStream(call.stream, call.name);
    CommOperation operation{.function = call.function,
                            .send = static_cast<const std::byte*>(call.send),
                            .receive = static_cast<std::byte*>(call.receive),
                            .count = call.count,
                            .type = type,
                            .peer = call.peer,
                            .stream = &stream.queue()};
    if (call.op != ncclSum)
      operation.reduction = inCall(call.name, [&] { return communicator.userOps().resolve(call.op, type); });
    if (group != nullptr) group->check(*use, GroupCall::kOperation, call.name);
    hand(*use, stream, operation, call.name);
    if (group != nullptr) group->add(use);
    return !communicator.config().blocking && communicator.state() == CommState::kInProgress ? ncclInProgress
                                                                                             : ncclSuccess;
  });
}

}  // namespace xylem
