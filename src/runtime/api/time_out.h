#pragma once
// Time-outs of programs that keep their own, as the back-end for PyTorch does.
//
//   const std::string reason = abortLate(comm, "ALLREDUCE timed out after 500 ms");
//   // "ALLREDUCE timed out after 500 ms; rank 1 has not called it; its last call: ..."

#include <string>

#include "nccl.h"

namespace xylem::api {

// ncclCommAbort of a communicator whose operation takes too long: adds to `what` which ranks are late, as far as this
// rank can see, and tells it to the other ranks. Returns that text.
std::string abortLate(ncclComm_t comm, const std::string& what) noexcept;

}  // namespace xylem::api
