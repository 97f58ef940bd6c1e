#include "cli/perf_options.h"

namespace xylem::cli {

std::vector<PerfCase> casesOf(const PerfOptions& options) {
  std::vector<PerfCase> cases;
  for (const DataType type : options.types) {
    for (const ReduceOp op : options.ops) {
      std::size_t bytes = options.minBytes;
      while (bytes <= options.maxBytes) {
        cases.push_back({type, op, bytes / elementBytes(type)});
        const std::size_t next =
            options.stepBytes > 0 ? bytes + options.stepBytes : bytes * options.stepFactor;
        if (next <= bytes) break;
        bytes = next;
      }
    }
  }
  return cases;
}

}  // namespace xylem::cli
