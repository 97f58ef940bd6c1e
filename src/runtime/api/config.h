#pragma once
// From the configurations of nccl.h, which a C program filled in, to ours.
//
//   const CommConfig config = readConfig(userConfig, "ncclCommInitRankConfig");

#include "runtime/comm/comm_config.h"
#include "nccl.h"

namespace xylem {

// Null: the defaults. Throws for a structure without its initializer and for fields that cannot be used.
// Takes structures of programs that were compiled with an older or newer nccl.h, too: fields that these do
// not have get the default, fields that we do not have are not looked at.
CommConfig readConfig(const ncclConfig_t* config, const char* function);

// Throws for a structure without its initializer.
void checkSimInfo(const ncclSimInfo_t& info, const char* function);

}  // namespace xylem
