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

// The tables of NCCL's plugins that answer for variables. The text of getEnv is valid until the next call for the same
// variable; null: the variable is not set.
constexpr const char* kEnvSymbol = "ncclEnvPlugin_v";
constexpr int kOldestEnv = 1;
constexpr int kNewestEnv = 2;

struct EnvV1 {
  const char* name;
  Result (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix);
  Result (*finalize)();
  const char* (*getEnv)(const char* name);
};
struct EnvV2 {
  const char* name;
  Result (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix, LogFunction log);
  Result (*finalize)();
  const char* (*getEnv)(const char* name);
};

// The tables of NCCL's tuner plugins, versions 2 to 6.
constexpr int kOldestTuner = 2;
constexpr int kNewestTuner = 6;

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

// From version 5 on, init comes before the host makes its model and may change the model's constants.
struct NvlinkDomains {
  int domains, minRanks, maxRanks;
};
struct TunerConstants {
  double baseLatencies[7][3];
  double hardwareLatencies[3][7][3];
  double maxBandwidths[5][4][3];  // LL, ring LL128, tree LL128, tree, NVLS tree
};
static_assert(sizeof(TunerConstants) == 1152);

struct TunerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 LogFunction log, NvlinkDomains* domains, TunerConstants* constants);
  Result (*getCollInfo)(void* context, int function, std::size_t bytes, int operations, float** table,
                        int algorithms, int protocols, int registeredBuffers, int* channels);
  Result (*finalize)(void* context);
};

struct TunerV6 : TunerV5 {
  // May be null.
  Result (*getChunkSize)(void* context, int function, std::size_t bytes, int algorithm, int protocol,
                         int channels, std::size_t* chunkBytes);
};
static_assert(sizeof(TunerV6) == 40);

}  // namespace xylem::plugins::abi
