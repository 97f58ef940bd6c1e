#pragma once
// How a send or a receive is cut into parts, one per channel, and chunks.
//
//   P2pSplit split = splitP2p(job, {.bytes = 1 << 20});
//   split.part(0)   ->   where the first channel's part begins and ends

#include <cstdint>

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"

namespace xylem {
class Settings;
}
namespace xylem::tuning {

// Settings shared by all transfers of a communicator.
struct P2pJob {
  int ranks = 1, nodes = 1;
  int channels = 1;  // for sends and receives
  int channelsPerPeer = 1;
  std::int64_t stepBytes = 0;      // of Simple
  std::int64_t llBufferBytes = 0;  // all slots together
  std::int64_t llThreshold = 0;    // bytes per channel of a peer up to which LL is used
  bool llByChannels = false;       // the threshold is per channel that the transfer uses
  std::int64_t chunkOverride = 0;  // bytes, NCCL_CHUNK_SIZE; 0 if not set

  // Leaves the counts of channels to the caller, who knows the connections. `allNvlink`: NVLink joins all
  // GPUs of the only node. `input`: of the rank, for what newer versions of NCCL decide by the machine.
  static P2pJob from(const Settings& settings, int ranks, int nodes, bool allNvlink,
                     const TuningInput& input);
};

struct P2pTransfer {
  std::uint64_t bytes = 0;
  bool toSelf = false;
  bool overNetwork = false;
  bool hasLl = true;  // all connections to the peer have LL buffers
};

struct P2pSplit {
  Protocol protocol = Protocol::kSimple;
  int channels = 0;
  std::int64_t chunkBytes = 0;
  std::int64_t dataBytes = 0;   // of a chunk, rounded down to what the work descriptor can express
  std::uint64_t partBytes = 0;  // of every part but the last
  std::uint64_t bytes = 0;

  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  // Returns the bytes of the operation that the part covers, `end` excluded.
  Range part(int index) const;
};

P2pSplit splitP2p(const P2pJob& job, const P2pTransfer& transfer);

}  // namespace xylem::tuning
