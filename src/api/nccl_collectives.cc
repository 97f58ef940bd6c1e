// The part of nccl.h that moves data.

#include <cstdint>

#include "api/boundary.h"
#include "api/raw_value.h"
#include "api/stream_handle.h"

using namespace xylem;

namespace {

struct CollectiveArguments {
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int type;
  int op;
};

void checkArguments(const CollectiveArguments& a) {
  if (a.type < 0 || a.type >= kDataTypes)
    throw Error(ResultCode::kInvalidArgument, "{}: datatype is {}; expected 0 to {}", a.function, a.type,
                kDataTypes - 1);
  if (a.op < 0 || a.op >= kReduceOps)
    throw Error(ResultCode::kInvalidArgument, "{}: op is {}; expected 0 to {}", a.function, a.op,
                kReduceOps - 1);
  if (a.count == 0) return;
  requireNotNull(a.send, a.function, "sendbuff");
  requireNotNull(a.receive, a.function, "recvbuff");
  const std::size_t bytes = elementBytes(static_cast<DataType>(a.type));
  if (a.count > PTRDIFF_MAX / bytes)
    throw Error(ResultCode::kInvalidArgument,
                "{}: count is {}; no buffer holds that many elements of {} bytes", a.function, a.count,
                bytes);
  const auto send = reinterpret_cast<std::uintptr_t>(a.send);
  const auto receive = reinterpret_cast<std::uintptr_t>(a.receive);
  if (send % bytes != 0 || receive % bytes != 0)
    throw Error(ResultCode::kInvalidArgument, "{}: {} is not aligned to its elements of {} bytes", a.function,
                send % bytes != 0 ? "sendbuff" : "recvbuff", bytes);
  const std::uintptr_t gap = send > receive ? send - receive : receive - send;
  if (gap != 0 && gap < a.count * bytes)
    throw Error(ResultCode::kInvalidArgument,
                "{}: sendbuff and recvbuff overlap; they must be equal (in place) or apart", a.function);
}

}  // namespace

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return guard([&] {
    Communicator& communicator = checked(comm, "ncclAllReduce");
    checkArguments({"ncclAllReduce", sendbuff, recvbuff, count, rawValue(datatype), rawValue(op)});
    Stream* queue = streamOf(stream);
    if (queue == nullptr)
      throw Error(ResultCode::kInvalidArgument, "ncclAllReduce: stream is not a stream, or was destroyed");
    communicator.allReduce(
        {static_cast<const std::byte*>(sendbuff), static_cast<std::byte*>(recvbuff), count},
        static_cast<DataType>(datatype), static_cast<ReduceOp>(op), *queue);
  });
}
