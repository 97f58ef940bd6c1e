#pragma once
// What `xylem perf` was asked to measure, as the ranks and the report need it.
//
//   PerfOptions options;
//   options.collective = PerfCollective::kReduce;
//   for (const PerfCase& c : casesOf(options)) ...     // a line of the table each

#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/perf/collective.h"
#include "core/data_type.h"

namespace xylem::cli {

// ReduceOp's, with the same numbers, and those that it lacks.
enum class PerfOperator : int { kSum, kProd, kMax, kMin, kAvg, kMulSum, kNone };
constexpr int kPerfOperators = 6;
std::string_view name(PerfOperator op);

enum class PerfMemory : int { kMalloc, kCuda, kNccl };
constexpr int kPerfMemories = 3;
std::string_view name(PerfMemory memory);

// Whose time is shown.
enum class PerfAverage : int { kRank0, kAverage, kMinimum, kMaximum };

struct PerfOptions {
  PerfCollective collective = PerfCollective::kAllReduce;
  // The job: every process has `threads`, each of which drives `gpus` ranks.
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
  int aggregated = 1;  // operations per iteration, in one group
  int checks = 1;      // results checked, each of an operation of its own
  bool blocking = false;
  bool cpuTime = false;  // until the last operation is enqueued instead of done
  bool registers = false;
  PerfAverage average = PerfAverage::kAverage;
  PerfMemory memory = PerfMemory::kCuda;
  bool json = false;
  int timeoutSeconds = 300;  // without a result from any rank; 0: for ever

  int ranksPerProcess() const { return threads * gpus; }
  int ranks() const { return processes * ranksPerProcess(); }
};

// One line of the table.
struct PerfCase {
  DataType type;
  PerfOperator op;
  int root;  // -1: there is none
  PerfLayout layout;
  std::size_t bytes() const { return layout.most() * elementBytes(type); }
};

// In the order in which they are run: sizes within roots within operators within types.
std::vector<PerfCase> casesOf(const PerfOptions& options);

}  // namespace xylem::cli
