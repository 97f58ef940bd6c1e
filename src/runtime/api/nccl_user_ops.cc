// The part of nccl.h about operations that programs make.

#include "runtime/api/arguments.h"
#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/profiled.h"
#include "runtime/api/raw_value.h"
#include "runtime/comm/issue/user_ops.h"

using namespace xylem;

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
