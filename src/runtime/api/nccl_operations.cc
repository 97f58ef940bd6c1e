// The part of nccl.h that moves data, and the reductions that programs make.
//
// Each call becomes a DataCall. If it repeats one of the thread's last groups (repeated_groups.h), that is all; otherwise `issue` checks
// it, translates it and hands it to its group, or to the graph into which its stream is captured. All-to-all, gather and scatter are
// groups of sends and receives.

#include <array>
#include <cstddef>

#include "nccl.h"
#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/captured_calls.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/data_call.h"
#include "runtime/api/group_members.h"
#include "runtime/api/raw_value.h"
#include "runtime/api/repeated_groups.h"
#include "runtime/comm/issue/gpu_executor.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/user_ops.h"

using namespace xylem;
using namespace xylem::api;

namespace {

void checkBuffers(const DataCall& call, DataType type, int rank, int ranks) {
  const Function function = call.function;
  const bool sendsAll = sendsBlocks(function), receivesAll = receivesBlocks(function);
  const std::size_t all = bytesOf(call.count, type, sendsAll || receivesAll ? ranks : 1, call.name);
  if (all == 0) return;
  const bool sends = function != Function::kRecv && (function != Function::kBroadcast || rank == call.peer);
  const bool receives = function != Function::kSend && (function != Function::kReduce || rank == call.peer);
  if (sends) requireNotNull(call.send, call.name, "sendbuff");
  if (receives) requireNotNull(call.receive, call.name, "recvbuff");
  if (!sends || !receives) return;
  const std::size_t block = call.count * elementBytes(type);
  const std::size_t sendBytes = sendsAll ? all : block;
  const std::size_t receiveBytes = receivesAll ? all : block;
  // Where the smaller buffer lies in the larger one if the call is in place.
  std::size_t offset = 0;
  if (sendsAll != receivesAll) offset = block * static_cast<std::size_t>(rank);
  if (function == Function::kAlltoAll) offset = sendBytes;  // never in place
  checkApart({call.send, sendBytes}, {call.receive, receiveBytes}, offset, call.name);
}

// On a GPU: buffers are where the GPU reaches them, and the stream is one of the driver.
void takeStream(const comm::GpuExecutor& executor, const DataCall& call, comm::CommOperation& operation) {
  const gpu::GpuContext& gpu = executor.gpu();
  gpu.checkStream(call.stream, call.name);
  operation.gpuStream = call.stream;
  if (operation.count == 0) return;
  const bool isRoot = gpu.rank() == call.peer;
  const bool isSmall = operation.count * elementBytes(operation.type) < comm::GpuExecutor::kLeastInBuffers;
  operation.peersReach = !isSmall;
  const auto check = [&](const void* buffer, const char* name) {
    if (isSmall) return gpu.checkSmallBuffer(buffer, call.name, name);
    operation.peersReach = gpu.checkBuffer(buffer, call.name, name) && operation.peersReach;
  };
  if (call.function != Function::kRecv && (call.function != Function::kBroadcast || isRoot))
    check(call.send, "sendbuff");
  if (call.function != Function::kSend && (call.function != Function::kReduce || isRoot))
    check(call.receive, "recvbuff");
  if (const std::byte* const scalar = operation.reduction.scalarAddress)
    gpu.checkSmallBuffer(scalar, call.name, "the scalar of op");
}

// Checks a call and translates it, all but its stream.
comm::CommOperation checkedOperation(comm::Communicator& communicator, const DataCall& call) {
  const DataType type = readType(call.type, call.name);
  if (call.peerName != nullptr) checkRank(call.peer, communicator.ranks(), call.name, call.peerName);
  checkBuffers(call, type, communicator.rank(), communicator.ranks());
  comm::CommOperation operation{.function = call.function,
                                .send = static_cast<const std::byte*>(call.send),
                                .receive = static_cast<std::byte*>(call.receive),
                                .count = call.count,
                                .type = type,
                                .peer = call.peer};
  if (call.op != ncclSum)
    operation.reduction = inCall(call.name, [&] { return communicator.userOps().resolve(call.op, type); });
  return operation;
}

void submit(ncclComm& handle, const DataCall& call) {
  comm::Communicator& communicator = *handle.impl;
  comm::CommOperation operation = checkedOperation(communicator, call);
  if (comm::GpuExecutor* const executor = communicator.gpu()) {
    const gpu::EnteredDevice entered(executor->gpu());
    RepeatedGroups::noteOther();
    operation.stream = &executor->tasks();
    takeStream(*executor, call, operation);
    comm::submit(communicator, operation);
  } else {
    cuda_api::CudaStream& stream = readStream(call.stream, communicator.device(), call.name);
    operation.stream = &stream.queue();
    const bool isAlone = comm::groupDepth() == 0;
    if (!isAlone) RepeatedGroups::note(call);
    submitOrCapture(handle, stream, operation, call.name);
    if (isAlone && !stream.captured() && communicator.lastWork() != 0) RepeatedGroups::keep(call, operation);
  }
}

// Not inlined, so that calls which repeat need no stack for it.
[[gnu::noinline]] ncclResult_t issueNew(const DataCall& call) {
  bool isUnderWay = false;
  GroupMembers::addCall(call.comm, call.name, [&](ncclComm& handle) {
    submit(handle, call);
    isUnderWay = !handle.impl->config().blocking && handle.impl->state() == comm::CommState::kInProgress;
  });
  return isUnderWay ? ncclInProgress : ncclSuccess;
}

ncclResult_t issue(const DataCall& call) {
  return guardInGroup([&] {
    if (comm::groupDepth() == 0 ? RepeatedGroups::repeats(call) : RepeatedGroups::counts(call))
      return ncclSuccess;
    return issueNew(call);
  });
}

}  // namespace

ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return issue({"ncclReduce", Function::kReduce, sendbuff, recvbuff, count, datatype, rawValue(op), root,
                "root", comm, stream});
}
XYLEM_PROFILED(Reduce);

ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return issue(
      {"ncclBcast", Function::kBroadcast, buff, buff, count, datatype, ncclSum, root, "root", comm, stream});
}
XYLEM_PROFILED(Bcast);

ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            int root, ncclComm_t comm, cudaStream_t stream) {
  return issue({"ncclBroadcast", Function::kBroadcast, sendbuff, recvbuff, count, datatype, ncclSum, root,
                "root", comm, stream});
}
XYLEM_PROFILED(Broadcast);

ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return issue({"ncclAllReduce", Function::kAllReduce, sendbuff, recvbuff, count, datatype, rawValue(op), 0,
                nullptr, comm, stream});
}
XYLEM_PROFILED(AllReduce);

ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream) {
  return issue({"ncclReduceScatter", Function::kReduceScatter, sendbuff, recvbuff, recvcount, datatype,
                rawValue(op), 0, nullptr, comm, stream});
}
XYLEM_PROFILED(ReduceScatter);

ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream) {
  return issue({"ncclAllGather", Function::kAllGather, sendbuff, recvbuff, sendcount, datatype, ncclSum, 0,
                nullptr, comm, stream});
}
XYLEM_PROFILED(AllGather);

ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue(
      {"ncclSend", Function::kSend, sendbuff, nullptr, count, datatype, ncclSum, peer, "peer", comm, stream});
}
XYLEM_PROFILED(Send);

ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
  return issue(
      {"ncclRecv", Function::kRecv, nullptr, recvbuff, count, datatype, ncclSum, peer, "peer", comm, stream});
}
XYLEM_PROFILED(Recv);

namespace {

// A call made of sends and receives, with what follows from its communicator.
struct Exchange {
  const char* name;
  const void* send;
  void* receive;
  std::size_t count;
  ncclDataType_t type;
  int root;
  ncclComm_t comm;
  cudaStream_t stream;
  int rank = 0;
  int ranks = 1;
  std::size_t blockBytes = 0;
};

// Checks what the sends and receives do not check. Throws Error.
Exchange checked(Exchange call, bool sendsBlocks, bool receivesBlocks) {
  const CommUse use(call.comm, call.name);
  requireReady(*use, call.name);
  const DataType type = readType(call.type, call.name);
  call.rank = use->impl->rank();
  call.ranks = use->impl->ranks();
  checkRank(call.root, call.ranks, call.name, "root");
  bytesOf(call.count, type, call.ranks, call.name);
  call.blockBytes = bytesOf(call.count, type, 1, call.name);
  if (call.count == 0) return call;
  const bool toAll = sendsBlocks && receivesBlocks;
  const bool isRoot = call.rank == call.root;
  if (toAll || !sendsBlocks || isRoot) requireNotNull(call.send, call.name, "sendbuff");
  if (toAll || !receivesBlocks || isRoot) requireNotNull(call.receive, call.name, "recvbuff");
  const auto blocks = static_cast<std::size_t>(call.ranks);
  if (toAll || isRoot)
    checkApart({call.send, call.blockBytes * (sendsBlocks ? blocks : 1)},
               {call.receive, call.blockBytes * (receivesBlocks ? blocks : 1)},
               call.blockBytes * (toAll ? blocks : static_cast<std::size_t>(call.rank)), call.name);
  return call;
}

// True if an all-to-all is one operation of the communicator: of little data, on one host.
bool isOneOperation(ncclComm_t comm, const char* name) {
  const CommUse use(comm, name);
  requireReady(*use, name);
  return use->impl->allToAllAtOnce();
}

const void* sendBlock(const Exchange& call, int peer) {
  return static_cast<const std::byte*>(call.send) + call.blockBytes * static_cast<std::size_t>(peer);
}
void* receiveBlock(const Exchange& call, int peer) {
  return static_cast<std::byte*>(call.receive) + call.blockBytes * static_cast<std::size_t>(peer);
}

void require(ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw Error(static_cast<ResultCode>(result), "{}", lastErrorText());
}

void send(const Exchange& call, const void* data, int peer) {
  require(pncclSend(data, call.count, call.type, peer, call.comm, call.stream));
}
void receive(const Exchange& call, void* data, int peer) {
  require(pncclRecv(data, call.count, call.type, peer, call.comm, call.stream));
}

// Runs `transfers`, which makes the sends and receives of a call, as one group.
template <typename Transfers>
ncclResult_t exchange(const Exchange& asked, bool sendsBlocks, bool receivesBlocks, Transfers&& transfers) {
  return guardInGroup([&]() -> ncclResult_t {
    const Exchange call = checked(asked, sendsBlocks, receivesBlocks);
    if (call.count == 0) return ncclSuccess;
    require(pncclGroupStart());
    try {
      transfers(call);
    } catch (const Error& error) {
      pncclGroupEnd();  // fails with the same error
      throw;
    }
    const ncclResult_t result = pncclGroupEnd();
    require(result);
    return result;
  });
}

}  // namespace

ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  constexpr const char* kName = "ncclAlltoAll";
  return guardInGroup([&] {
    if (isOneOperation(comm, kName))
      return issue({.name = kName,
                    .function = Function::kAlltoAll,
                    .send = sendbuff,
                    .receive = recvbuff,
                    .count = count,
                    .type = datatype,
                    .comm = comm,
                    .stream = stream});
    return exchange({kName, sendbuff, recvbuff, count, datatype, 0, comm, stream}, true, true,
                    [](const Exchange& call) {
                      for (int peer = 0; peer < call.ranks; ++peer) {
                        send(call, sendBlock(call, peer), peer);
                        receive(call, receiveBlock(call, peer), peer);
                      }
                    });
  });
}
XYLEM_PROFILED(AlltoAll);

ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return exchange({"ncclGather", sendbuff, recvbuff, count, datatype, root, comm, stream}, false, true,
                  [](const Exchange& call) {
                    const bool isRoot = call.rank == call.root;
                    const bool inPlace = isRoot && call.send == receiveBlock(call, call.rank);
                    if (!inPlace) send(call, call.send, call.root);
                    for (int peer = 0; isRoot && peer < call.ranks; ++peer)
                      if (peer != call.rank || !inPlace) receive(call, receiveBlock(call, peer), peer);
                  });
}
XYLEM_PROFILED(Gather);

ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          int root, ncclComm_t comm, cudaStream_t stream) {
  return exchange({"ncclScatter", sendbuff, recvbuff, count, datatype, root, comm, stream}, true, false,
                  [](const Exchange& call) {
                    const bool isRoot = call.rank == call.root;
                    const bool inPlace = isRoot && call.receive == sendBlock(call, call.rank);
                    if (!inPlace) receive(call, call.receive, call.root);
                    for (int peer = 0; isRoot && peer < call.ranks; ++peer)
                      if (peer != call.rank || !inPlace) send(call, sendBlock(call, peer), peer);
                  });
}
XYLEM_PROFILED(Scatter);

ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm) {
  constexpr const char* kName = "ncclRedOpCreatePreMulSum";
  return guardInGroup([&] {
    requireNotNull(op, kName, "op");
    const CommUse use(comm, kName);
    requireReady(*use, kName);
    requireNotNull(scalar, kName, "scalar");
    const DataType type = readType(datatype, kName);
    const int where = rawValue(residence);
    if (where != ncclScalarDevice && where != ncclScalarHostImmediate)
      throw Error(ResultCode::kInvalidArgument, "{}: residence is {}; expected 0 or 1", kName, where);
    const int made =
        inCall(kName, [&] { return use->impl->userOps().create(type, scalar, where == ncclScalarDevice); });
    *op = static_cast<ncclRedOp_t>(made);
  });
}
XYLEM_PROFILED(RedOpCreatePreMulSum);

ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return guardInGroup([&] {
    const CommUse use(comm, "ncclRedOpDestroy");
    inCall("ncclRedOpDestroy", [&] { use->impl->userOps().destroy(rawValue(op)); });
  });
}
XYLEM_PROFILED(RedOpDestroy);
