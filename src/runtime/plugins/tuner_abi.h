#pragma once
// The tables of NCCL's tuner plugins, versions 2 to 4.

#include "runtime/plugins/abi.h"

namespace xylem::abi {

constexpr int kOldestTuner = 2;
constexpr int kNewestTuner = 4;

struct TunerV2 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, LogFunction log, void** context);
  // Algorithm and protocol are -1 beforehand, and where the plugin has no opinion.
  Result (*getCollInfo)(void* context, int function, std::size_t bytes, int collNetSupport, int nvlsSupport,
                        int operations, int* algorithm, int* protocol, int* channels);
  Result (*destroy)(void* context);
};

// `table` is declared so, and is the address of one float[algorithms][protocols]: estimated microseconds, or
// kCannotRun.
struct TunerV3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, LogFunction log, void** context);
  Result (*getCollInfo)(void* context, int function, std::size_t bytes, int operations, float** table,
                        int algorithms, int protocols, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, LogFunction log, void** context);
  Result (*getCollInfo)(void* context, int function, std::size_t bytes, int operations, float** table,
                        int algorithms, int protocols, int registeredBuffers, int* channels);
  Result (*destroy)(void* context);
};

}  // namespace xylem::abi
