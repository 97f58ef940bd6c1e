#pragma once
// A call of nccl.h that moves data, as the program made it.

#include <cstddef>

#include "core/kinds.h"
#include "nccl.h"
#include "runtime/api/raw_value.h"
#include "runtime/comm/issue/operation.h"

namespace xylem::api {

struct DataCall {
  const char* name;
  Function function;
  const void* send;
  void* receive;
  std::size_t count;
  const ncclDataType_t& type;
  int op = ncclSum;
  int peer = 0;
  const char* peerName = nullptr;  // of the parameter: `root` or `peer`; null if the call has none
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

// Whether an operation came of such a call on the same communicator and stream. A created reduction may have changed since: false.
inline bool isFrom(const DataCall& call, const comm::CommOperation& operation) {
  return operation.send == call.send && operation.receive == call.receive && operation.count == call.count &&
         operation.function == call.function && operation.peer == call.peer &&
         static_cast<int>(operation.type) == rawValue(call.type) &&
         static_cast<int>(operation.reduction.op) == call.op && !operation.reduction.scaled;
}

}  // namespace xylem::api
