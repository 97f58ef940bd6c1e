#pragma once
// The two names of every function of nccl.h: pncclX is the function, ncclX a weak second name of it, so that
// a profiler's ncclX takes its place and can call pncclX.
//
//   ncclResult_t pncclGetVersion(int* version) { ... }
//   XYLEM_PROFILED(GetVersion);
//
// Inside the library only pncclX is called: what a program asks for is one call to a profiler, not several.

#include "nccl.h"

#define XYLEM_PROFILED(NAME) \
  extern "C"                 \
      __attribute__((weak, alias("pnccl" #NAME), visibility("default"))) decltype(pnccl##NAME) nccl##NAME
