#pragma once
// Reads the configurations of nccl.h, which a C program filled in.
//
//   const CommConfig config = readConfig(userConfig, "ncclCommInitRankConfig");

#include "nccl.h"
#include "runtime/comm/communicator.h"

namespace xylem::api {

// The defaults for null. Throws for a structure without its initializer and for fields with unusable values.
// Accepts structures of programs compiled with an older or newer nccl.h: fields that an older one lacks get
// the default, and fields that are new in a newer one are ignored.
comm::CommConfig readConfig(const ncclConfig_t* config, const char* function);

// Throws for a structure without its initializer.
void checkSimInfo(const ncclSimInfo_t& info, const char* function);

}  // namespace xylem::api
