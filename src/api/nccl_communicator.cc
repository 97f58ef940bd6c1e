// The part of nccl.h that makes, asks and frees communicators.

#include <cstring>

#include "api/boundary.h"
#include "api/raw_value.h"
#include "device/host_device.h"

using namespace xylem;

ncclResult_t ncclGetVersion(int* version) {
  return guard([&] {
    requireNotNull(version, "ncclGetVersion", "version");
    *version = NCCL_VERSION_CODE;
  });
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guard([&] {
    requireNotNull(uniqueId, "ncclGetUniqueId", "uniqueId");
    const Settings settings = Settings::fromEnvironment();
    const auto bytes = newUniqueId(settings, processLogger(settings)).bytes();
    static_assert(sizeof bytes == NCCL_UNIQUE_ID_BYTES);
    std::memcpy(uniqueId->internal, bytes.data(), bytes.size());
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return guard([&] {
    requireNotNull(comm, "ncclCommInitRank", "comm");
    *comm = nullptr;
    if (nranks < 1)
      throw Error(ResultCode::kInvalidArgument, "ncclCommInitRank: nranks is {}; at least 1 is needed",
                  nranks);
    if (rank < 0 || rank >= nranks)
      throw Error(ResultCode::kInvalidArgument, "ncclCommInitRank: rank is {}; expected 0 to {}", rank,
                  nranks - 1);
    const UniqueId id = UniqueId::fromBytes(commId.internal);
    const Settings settings = Settings::fromEnvironment();
    const Membership membership{id, rank, nranks, currentDevice()};
    *comm = std::make_unique<ncclComm>(Communicator::join(membership, settings, processLogger(settings)))
                .release();
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return guard([&] {
    if (comm == nullptr) return;
    checked(comm, "ncclCommDestroy");
    const std::unique_ptr<ncclComm> owner(comm);
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return guard([&] {
    requireNotNull(count, "ncclCommCount", "count");
    *count = checked(comm, "ncclCommCount").ranks();
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return guard([&] {
    requireNotNull(rank, "ncclCommUserRank", "rank");
    *rank = checked(comm, "ncclCommUserRank").rank();
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return guard([&] {
    requireNotNull(device, "ncclCommCuDevice", "device");
    *device = checked(comm, "ncclCommCuDevice").device();
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return guard([&] {
    requireNotNull(asyncError, "ncclCommGetAsyncError", "asyncError");
    const std::optional<Error> failure = checked(comm, "ncclCommGetAsyncError").failure();
    *asyncError = failure ? static_cast<ncclResult_t>(failure->code()) : ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (rawValue(result)) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a call to the device failed";
    case ncclSystemError:
      return "a call to the operating system failed";
    case ncclInternalError:
      return "internal error: a bug of the library";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage: arguments or set-up do not fit together";
    case ncclRemoteError:
      return "remote error: another rank is gone, silent or failed";
    case ncclInProgress:
      return "still in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (comm != nullptr && comm->magic == ncclComm::kMagic) {
    if (const std::optional<Error> failure = comm->impl->failure()) {
      comm->failureText = failure->what();
      return comm->failureText.c_str();
    }
  }
  return lastErrorText().c_str();
}
