#pragma once
// A call of nccl.h that moves data, from its arguments to its group: checked, translated, and handed on, or
// into the graph that its stream is captured into.
//
//   return issue(comm, {.name = "ncclAllReduce", .function = Function::kAllReduce, .send = sendbuff, ...});

#include <cstddef>

#include "runtime/comm/issue/operation.h"
#include "nccl.h"

namespace xylem {

// A call as the program made it.
struct DataCall {
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

ncclResult_t issue(ncclComm_t comm, const DataCall& call);

}  // namespace xylem
