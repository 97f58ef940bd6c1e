// The part of nccl.h that moves data: checks arguments and hands the operation to its group.

#include <algorithm>

#include "api/arguments.h"
#include "api/boundary.h"
#include "api/captured_calls.h"
#include "api/comm_handle.h"
#include "api/group_members.h"
#include "api/profiled.h"
#include "api/raw_value.h"
#include "comm/user_ops.h"

using namespace xylem;

namespace {

// A call as the program made it.
struct Call {
  const char* name;
  Function function;
  const void* send;
  void* receive;
  std::size_t count;
  const ncclDataType_t& type;
  int op = ncclSum;
  int peer = 0;
  const char* peerName = nullptr;  // `root` or `peer`; null if it has none
  cudaStream_t stream = nullptr;
};

// Which buffers this rank uses, and how large they are.
struct Buffers {
  bool sends = true;
  bool receives = true;
  int sendBlocks = 1;  // of `count` elements each
  int receiveBlocks = 1;
};

Buffers buffersOf(const Call& call, int rank, int ranks) {
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
    case Function::kSend:
      return {.receives = false};
    case Function::kRecv:
      return {.sends = false};
  }
  return {};
}

void checkBuffers(const Call& call, DataType type, int rank, int ranks) {
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
  const std::size_t offset =
      oneBlockOfMany ? std::min(sendBytes, receiveBytes) * static_cast<std::size_t>(rank) : 0;
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

ncclResult_t issue(ncclComm_t comm, const Call& call) {
  return guardInGroup([&] {
    const CommUse use(comm, call.name);
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
    GroupMembers& group = GroupMembers::ofThread();
    group.check(*use, GroupCall::kOperation, call.name);
    hand(*use, stream, operation, call.name);
    group.add(*use);
    return !communicator.config().blocking && communicator.state() == CommState::kInProgress ? ncclInProgress
                                                                                             : ncclSuccess;
  });
}

}  // namespace

ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {"ncclReduce", Function::kReduce, sendbuff, recvbuff, count, datatype, rawValue(op),
                      root, "root", stream});
}
XYLEM_PROFILED(Reduce);

ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return issue(
      comm, {"ncclBcast", Function::kBroadcast, buff, buff, count, datatype, ncclSum, root, "root", stream});
}
XYLEM_PROFILED(Bcast);

ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            int root, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {"ncclBroadcast", Function::kBroadcast, sendbuff, recvbuff, count, datatype, ncclSum,
                      root, "root", stream});
}
XYLEM_PROFILED(Broadcast);

ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {"ncclAllReduce", Function::kAllReduce, sendbuff, recvbuff, count, datatype,
                      rawValue(op), 0, nullptr, stream});
}
XYLEM_PROFILED(AllReduce);

ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream) {
  return issue(comm, {"ncclReduceScatter", Function::kReduceScatter, sendbuff, recvbuff, recvcount, datatype,
                      rawValue(op), 0, nullptr, stream});
}
XYLEM_PROFILED(ReduceScatter);

ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, {"ncclAllGather", Function::kAllGather, sendbuff, recvbuff, sendcount, datatype, ncclSum,
                      0, nullptr, stream});
}
XYLEM_PROFILED(AllGather);

ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue(
      comm, {"ncclSend", Function::kSend, sendbuff, nullptr, count, datatype, ncclSum, peer, "peer", stream});
}
XYLEM_PROFILED(Send);

ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue(
      comm, {"ncclRecv", Function::kRecv, nullptr, recvbuff, count, datatype, ncclSum, peer, "peer", stream});
}
XYLEM_PROFILED(Recv);
