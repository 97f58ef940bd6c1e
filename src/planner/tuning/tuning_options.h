#pragma once
// The settings that steer the tuning model and the choice, read once.

#include <cstdint>
#include <optional>
#include <string>

#include "core/kinds.h"
#include "planner/tuning/host_model.h"

namespace xylem {

class Settings;

// LL128 works only on machines that keep the order of 128-byte stores; kDecide leaves it to the model.
enum class Enabled : int { kNo = 0, kYes = 1, kDecide = 2 };

struct TuningOptions {
  ByCollective<ByAlgorithm<bool>> algorithms;   // NCCL_ALGO
  ByCollective<ByProtocol<Enabled>> protocols;  // NCCL_PROTO
  std::string algorithmList, protocolList;      // their texts; empty where they are not set
  int pat = 2;                                  // NCCL_PAT_ENABLE: 2 decides by the job
  std::optional<float> netOverhead;             // microseconds; NCCL_NET_OVERHEAD
  // Bytes per thread below which fewer threads and channels do; NCCL_THREAD_THRESHOLDS.
  ByProtocol<std::optional<std::int64_t>> treeThreshold, ringThreshold;
  int threads = 0, ll128Threads = 0;                  // NCCL_NTHREADS, NCCL_LL128_NTHREADS; 0: by the job
  ByProtocol<std::int64_t> bufferBytes{};             // of a connection
  std::int64_t nvlsChunkBytes = 0;                    // NCCL_NVLS_CHUNKSIZE
  std::optional<std::int64_t> nvlsTreeMaxChunkBytes;  // NCCL_NVLSTREE_MAX_CHUNKSIZE
  HostModel host;                                     // XYLEM_HOST_MODEL

  TuningOptions();
  // Throws InputError, naming the variable, for lists that cannot be understood.
  static TuningOptions from(const Settings& settings);
};

}  // namespace xylem
