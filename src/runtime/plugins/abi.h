#pragma once
// What all kinds of plugins made for NCCL share: result codes, kinds of pointers, the functions that they are
// given to log and to report events. All layouts are those of 64-bit machines, C linkage.

#include <cstddef>
#include <cstdint>

namespace xylem::abi {

// ncclResult_t, 4 bytes; the numbers are those of ResultCode.
using Result = int;
constexpr Result kSuccess = 0, kSystemError = 2, kInternalError = 3, kRemoteError = 6;

constexpr int kPtrHost = 1, kPtrCuda = 2, kPtrDmaBuf = 4;

// A float that stands for `cannot run`, in the tables of tuners.
constexpr float kCannotRun = -1.0f;

extern "C" {
// Levels are those of LogLevel, flags those of Subsystem.
typedef void (*LogFunction)(int level, unsigned long flags, const char* file, int line, const char* format,
                            ...);
// Types: 0 start, which writes *event; 1 stop, 2 update, 3 update and stop.
typedef Result (*ProfileFunction)(void** event, int type, void* parent, std::int64_t pluginId, void* data);
}

// dlsym takes a name made of one of these and the version: data symbols, the tables themselves.
constexpr const char* kNetSymbol = "ncclNetPlugin_v";
constexpr const char* kCollNetSymbol = "ncclCollNetPlugin_v";
constexpr const char* kTunerSymbol = "ncclTunerPlugin_v";

}  // namespace xylem::abi
