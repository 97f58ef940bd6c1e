#pragma once
// What `xylem perf` was asked to measure, as the ranks and the report need it.

#include <cstddef>
#include <string>
#include <vector>

#include "core/data_type.h"

namespace xylem::cli {

struct PerfOptions {
  int ranks = 2;
  std::size_t minBytes = 8;
  std::size_t maxBytes = std::size_t{64} << 20;
  std::size_t stepBytes = 0;  // 0: multiply by stepFactor
  std::size_t stepFactor = 2;
  std::vector<DataType> types{DataType::kFloat32};
  std::vector<ReduceOp> ops{ReduceOp::kSum};
  int warmup = 5;
  int iterations = 20;
  bool check = true;
  bool json = false;
  int timeoutSeconds = 300;  // without a result from any rank
};

// One line of the table.
struct PerfCase {
  DataType type;
  ReduceOp op;
  std::size_t count;  // elements
  std::size_t bytes() const { return count * elementBytes(type); }
};

// In the order in which they are run: sizes within operations within types.
std::vector<PerfCase> casesOf(const PerfOptions& options);

}  // namespace xylem::cli
