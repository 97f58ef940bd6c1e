#pragma once
// The measurements of `xylem perf` as numbers: the options, the cases that follow from them (a line of the
// table each), and for each operation the elements that a rank sends and receives, the data that must arrive,
// and the bandwidth of a time.
//
//   PerfOptions options;
//   options.collective = PerfCollective::kReduce;
//   for (const PerfCase& c : casesOf(options)) ... c.layout.count ... c.bytes() ...
//   for (const Piece& piece : piecesOf(PerfCollective::kReduce, count, ranks, rank, root)) ...
//
// Sizes, counts and factors are those of nccl-tests, so that numbers can be compared.

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/data_type.h"

namespace xylem::cli {

// ---- Operations ---------------------------------------------------------------------------------

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
// True if it consists of sends and receives, which need a group.
bool isPointToPoint(PerfCollective collective);
// False if ranks would overwrite data that others have yet to read, so that the result is undefined.
bool isDefinedInPlace(PerfCollective collective);
// The number of groups of calls that an operation consists of, one after the other.
int stepsOf(PerfCollective collective, int ranks);

// All numbers are elements.
struct PerfLayout {
  std::size_t count = 0;  // the count that the library is called with, for most operations that of a block
  std::size_t send = 0;   // in a rank's send buffer
  std::size_t receive = 0;
  // In place, there is one buffer: rank r sends from r * sendStride and receives at r * receiveStride.
  std::size_t sendStride = 0;
  std::size_t receiveStride = 0;
  std::size_t most() const { return send > receive ? send : receive; }
};

// The largest layout that fits into `bytes`. Blocks of several ranks are whole multiples of 16 bytes, and may be empty.
PerfLayout layoutOf(PerfCollective collective, std::size_t bytes, DataType type, int ranks);

// Data that must arrive: `count` elements from `to` on in the receive buffer. They are the elements from
// `from` on in the data that rank `source` sends, or in the reduction of all ranks' data.
struct Piece {
  static constexpr int kAllRanks = -1;
  int source;
  std::size_t to;
  std::size_t from;
  std::size_t count;
};

// All data that rank `rank` must have afterwards.
std::vector<Piece> piecesOf(PerfCollective collective, std::size_t count, int ranks, int rank, int root);

// GB/s (1e9 bytes per second): of the data, and of what each rank's link carries for it.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};
Bandwidth bandwidthOf(PerfCollective collective, std::size_t bytes, int ranks, double microseconds);

// ---- Options and cases --------------------------------------------------------------------------

// The reduction operators: ncclRedOp_t's with the same numbers, a multiplication by a factor per rank before
// the sum, and none.
enum class PerfOperator : int { kSum, kProd, kMax, kMin, kAvg, kMulSum, kNone };
constexpr int kPerfOperators = 6;
std::string_view name(PerfOperator op);

enum class PerfMemory : int { kMalloc, kCuda, kNccl };
constexpr int kPerfMemories = 3;
std::string_view name(PerfMemory memory);

// The time to show, of the ranks' times.
enum class PerfAverage : int { kRank0, kAverage, kMinimum, kMaximum };

struct PerfOptions {
  PerfCollective collective = PerfCollective::kAllReduce;
  // Every process has `threads`, each of which drives `gpus` ranks.
  int processes = 2;
  int threads = 1;
  int gpus = 1;
  std::size_t minBytes = 8;
  std::size_t maxBytes = std::size_t{64} << 20;
  std::size_t stepBytes = 0;  // 0: multiply by stepFactor
  std::size_t stepFactor = 2;
  std::vector<DataType> types{DataType::kFloat32};
  std::vector<PerfOperator> ops{PerfOperator::kSum};
  int root = 0;  // -1: each in turn
  int warmup = 5;
  int iterations = 20;
  int aggregated = 1;     // operations per iteration, in one group
  int graphLaunches = 0;  // launches of a CUDA graph of all iterations; 0: without a graph
  int checks = 1;         // checked results, each of an operation of its own
  bool blocking = false;
  bool cpuTime = false;  // show the time until the operations are enqueued
  bool registers = false;
  PerfAverage average = PerfAverage::kAverage;
  PerfMemory memory = PerfMemory::kCuda;
  bool json = false;
  int timeoutSeconds = 300;  // without a result from any rank; 0: no limit

  int ranksPerProcess() const { return threads * gpus; }
  int ranks() const { return processes * ranksPerProcess(); }
};

// A line of the table.
struct PerfCase {
  DataType type;
  PerfOperator op;
  int root;  // -1: none
  PerfLayout layout;
  std::size_t bytes() const { return layout.most() * elementBytes(type); }
};

// In the order of measuring: sizes within roots within operators within types.
std::vector<PerfCase> casesOf(const PerfOptions& options);

}  // namespace xylem::cli
