// The part of nccl.h that is about the library as a whole.

#include "runtime/api/boundary.h"
#include "runtime/api/comm_handle.h"
#include "runtime/api/raw_value.h"

using namespace xylem;
using namespace xylem::api;

ncclResult_t pncclGetVersion(int* version) {
  return guard([&] {
    requireNotNull(version, "ncclGetVersion", "version");
    *version = NCCL_VERSION_CODE;
  });
}
XYLEM_PROFILED(GetVersion);

const char* pncclGetErrorString(ncclResult_t result) {
  switch (rawValue(result)) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a call to the device failed";
    case ncclSystemError:
      return "a call to the operating system, a network or a plugin failed";
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
    case ncclTimeout:
      return "timeout";
  }
  return "unknown result code";
}
XYLEM_PROFILED(GetErrorString);

const char* pncclGetLastError(ncclComm_t comm) {
  const bool known = comm != nullptr && comm->magic.load() == ncclComm::kMagic;
  if (known && comm->forksBefore == forks.load(std::memory_order_relaxed)) {
    if (const std::optional<Error> failure = failureOf(*comm)) {
      comm->failureText = failure->what();
      return comm->failureText.c_str();
    }
  }
  return lastErrorText().c_str();
}
XYLEM_PROFILED(GetLastError);

void pncclResetDebugInit(void) { forgetLogger(); }
XYLEM_PROFILED(ResetDebugInit);
