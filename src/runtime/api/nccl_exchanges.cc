// The part of nccl.h that is made of sends and receives: each of these calls is a group of them, but an
// all-to-all of little data on one host.

#include <cstddef>

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/data_call.h"
#include "runtime/api/profiled.h"

using namespace xylem;

namespace {

// A call, with what follows from its communicator.
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

// Checks what the sends and receives do not: throws Error.
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

// Whether an all-to-all needs no sends and receives.
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

// The sends and receives of a call, as one group.
template <typename Transfers>
ncclResult_t exchange(const Exchange& asked, bool sendsBlocks, bool receivesBlocks, Transfers&& transfers) {
  return guardInGroup([&]() -> ncclResult_t {
    const Exchange call = checked(asked, sendsBlocks, receivesBlocks);
    if (call.count == 0) return ncclSuccess;
    require(pncclGroupStart());
    try {
      transfers(call);
    } catch (const Error& error) {
      pncclGroupEnd();  // fails with the same
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
      return issue(comm, {.name = kName,
                          .function = Function::kAlltoAll,
                          .send = sendbuff,
                          .receive = recvbuff,
                          .count = count,
                          .type = datatype,
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
