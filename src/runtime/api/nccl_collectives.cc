// The part of nccl.h that moves data.

#include "runtime/api/data_call.h"
#include "runtime/api/profiled.h"
#include "runtime/api/raw_value.h"

using namespace xylem;

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
