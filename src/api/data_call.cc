#include "api/data_call.h"

#include <algorithm>

#include "api/arguments.h"
#include "api/boundary.h"
#include "api/captured_calls.h"
#include "api/comm_handle.h"
#include "api/group_members.h"
#include "comm/user_ops.h"

namespace xylem {
namespace {

// Which buffers this rank uses, and how large they are.
struct Buffers {
  bool sends = true;
  bool receives = true;
  int sendBlocks = 1;  // of `count` elements each
  int receiveBlocks = 1;
};

Buffers buffersOf(const DataCall& call, int rank, int ranks) {
  switch (call.function) {
    case Function::kBroadcast:
      return {.sends = rank == call.peer};
    case Function::kReduce:
      return {.receives = rank == call.peer};
    case Function::kAllGather:
      return {.receiveBlocks = ranks};
    case Function::kReduceScatter:
      return {.sendBlocks = ranks};
    case Function::kAllReduce:
      return {};
    case Function::kAlltoAll:
      return {.sendBlocks = ranks, .receiveBlocks = ranks};
    case Function::kSend:
      return {.receives = false};
    case Function::kRecv:
      return {.sends = false};
  }
  return {};
}

void checkBuffers(const DataCall& call, DataType type, int rank, int ranks) {
  const Buffers buffers = buffersOf(call, rank, ranks);
  bytesOf(call.count, type, std::max(buffers.sendBlocks, buffers.receiveBlocks), call.name);
  const std::size_t blockBytes = call.count * elementBytes(type);
  const std::size_t sendBytes = blockBytes * static_cast<std::size_t>(buffers.sendBlocks);
  const std::size_t receiveBytes = blockBytes * static_cast<std::size_t>(buffers.receiveBlocks);
  if (call.count == 0) return;
  if (buffers.sends) requireNotNull(call.send, call.name, "sendbuff");
  if (buffers.receives) requireNotNull(call.receive, call.name, "recvbuff");
  if (!buffers.sends || !buffers.receives) return;
  const bool oneBlockOfMany = buffers.sendBlocks != buffers.receiveBlocks;
  std::size_t offset =
      oneBlockOfMany ? std::min(sendBytes, receiveBytes) * static_cast<std::size_t>(rank) : 0;
  if (call.function == Function::kAlltoAll) offset = sendBytes;  // never in place
  checkApart({call.send, sendBytes}, {call.receive, receiveBytes}, offset, call.name);
}

// To its group, or to the graph that the stream is captured into.
void hand(ncclComm& handle, CudaStream& stream, const CommOperation& operation, const char* function) {
  CapturedCalls& captured = CapturedCalls::ofThread();
  const bool any = stream.captured() || !captured.empty();
  if (any && GroupMembers::ofThread().uses(handle) && captured.has(handle) != stream.captured())
    throw Error(ResultCode::kInvalidUsage,
                "{}: the calls of a group on one communicator are all on streams that are captured, or none",
                function);
  if (stream.captured()) return captured.add(handle, stream, operation);
  inCall(function, [&] { stream.order(); });
  submit(*handle.impl, operation);
}

}  // namespace

ncclResult_t issue(ncclComm_t comm, const DataCall& call) {
  return guardInGroup([&] {
    GroupMembers& group = GroupMembers::ofThread();
    const CommUse use(comm, call.name, group.usedLast(comm));
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
    group.check(*use, GroupCall::kOperation, call.name);
    hand(*use, stream, operation, call.name);
    group.add(*use);
    return !communicator.config().blocking && communicator.state() == CommState::kInProgress ? ncclInProgress
                                                                                             : ncclSuccess;
  });
}

}  // namespace xylem
