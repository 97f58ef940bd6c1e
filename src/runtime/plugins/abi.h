#pragma once
// The parts that all kinds of plugins made for NCCL share (result codes, kinds of pointers, functions that they get for
// logging and for events), and the tables of tuner plugins. All layouts are those of 64-bit machines, with C
// linkage.

#include <cstddef>
#include <cstdint>

namespace xylem::plugins::abi {

// ncclResult_t, 4 bytes; the numbers are those of ResultCode.
using Result = int;
constexpr Result kSuccess = 0, kSystemError = 2, kInternalError = 3, kRemoteError = 6;

constexpr int kPtrHost = 1, kPtrCuda = 2, kPtrDmaBuf = 4;

// In a tuner's table: this algorithm and protocol cannot run.
constexpr float kCannotRun = -1.0f;

extern "C" {
// Levels are those of LogLevel, flags are those of Subsystem.
typedef void (*LogFunction)(int level, unsigned long flags, const char* file, int line, const char* format,
                            ...);
// Types: 0 start, which writes *event; 1 stop, 2 update, 3 update and stop.
typedef Result (*ProfileFunction)(void** event, int type, void* parent, std::int64_t pluginId, void* data);
}

// Symbols of tables: one of these names and the version. They are data symbols.
constexpr const char* kNetSymbol = "ncclNetPlugin_v";
constexpr const char* kCollNetSymbol = "ncclCollNetPlugin_v";
constexpr const char* kTunerSymbol = "ncclTunerPlugin_v";

// The tables of NCCL's tuner plugins, versions 2 to 4.
constexpr int kOldestTuner = 2;
constexpr int kNewestTuner = 4;

struct TunerV2 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, LogFunction log, void** context);
  // Algorithm and protocol are -1 before the call, and stay so if the plugin has no opinion.
  Result (*getCollInfo)(void* context, int function, std::size_t bytes, int collNetSupport, int nvlsSupport,
                        int operations, int* algorithm, int* protocol, int* channels);
  Result (*destroy)(void* context);
};

// The parameter `table` has this type in NCCL, but is the address of one float[algorithms][protocols]:
// estimated microseconds, or kCannotRun.
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

}  // namespace xylem::plugins::abi
