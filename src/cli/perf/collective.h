#pragma once
// The operations that `xylem perf` measures, as numbers: how many elements a rank sends and receives, where
// its buffers lie in place, what must arrive from whom, and how a time becomes GB/s. No data, no library.
//
//   const PerfLayout layout = layoutOf(PerfCollective::kAllGather, bytes, DataType::kFloat32, ranks);
//   for (const Piece& piece : piecesOf(PerfCollective::kAllGather, layout.count, ranks, rank, root)) ...
//
// Sizes, counts and factors are those of nccl-tests, so that numbers can be compared.

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/data_type.h"

namespace xylem::cli {

enum class PerfCollective : int {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kScatter,
  kGather,
  kSendRecv,
  kHypercube,
};
constexpr int kPerfCollectives = 10;

// "all_reduce", "alltoall".
std::string_view name(PerfCollective collective);
bool reduces(PerfCollective collective);
bool hasRoot(PerfCollective collective);
// Made of sends and receives, which need a group.
bool isPointToPoint(PerfCollective collective);
// Not where the ranks would overwrite what others have yet to read: nobody could say what comes out.
bool isDefinedInPlace(PerfCollective collective);
// Groups that follow each other.
int stepsOf(PerfCollective collective, int ranks);

// In elements.
struct PerfLayout {
  std::size_t count = 0;  // what the operation is called with, for most of them a block
  std::size_t send = 0;   // in a rank's send buffer
  std::size_t receive = 0;
  // In place, rank r sends from, and receives at, r times this in the one buffer.
  std::size_t sendStride = 0;
  std::size_t receiveStride = 0;
  std::size_t most() const { return send > receive ? send : receive; }
};

// The largest one that fits into `bytes`; blocks are whole multiples of 16 bytes, and may be empty.
PerfLayout layoutOf(PerfCollective collective, std::size_t bytes, DataType type, int ranks);

// `count` elements from `to` on in the receive buffer, which have to be those from `from` on in what rank
// `source` sends, or in what all ranks' data are reduced to.
struct Piece {
  static constexpr int kAllRanks = -1;
  int source;
  std::size_t to;
  std::size_t from;
  std::size_t count;
};

// All that rank `rank` has to have afterwards.
std::vector<Piece> piecesOf(PerfCollective collective, std::size_t count, int ranks, int rank, int root);

// GB/s (1e9 bytes per second): of the data, and of what each rank's link carries for it.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};
Bandwidth bandwidthOf(PerfCollective collective, std::size_t bytes, int ranks, double microseconds);

}  // namespace xylem::cli
