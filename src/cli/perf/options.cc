#include "cli/perf/options.h"

namespace xylem::cli {
namespace {

std::vector<std::size_t> sizesOf(const PerfOptions& options) {
  std::vector<std::size_t> sizes;
  std::size_t bytes = options.minBytes;
  while (bytes <= options.maxBytes) {
    sizes.push_back(bytes);
    const std::size_t next = options.stepBytes > 0 ? bytes + options.stepBytes : bytes * options.stepFactor;
    if (next <= bytes) break;
    bytes = next;
  }
  return sizes;
}

std::vector<int> rootsOf(const PerfOptions& options) {
  if (!hasRoot(options.collective)) return {-1};
  if (options.root >= 0) return {options.root};
  std::vector<int> roots;
  for (int root = 0; root < options.ranks(); ++root) roots.push_back(root);
  return roots;
}

}  // namespace

std::string_view name(PerfOperator op) {
  constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};
  return kNames[static_cast<int>(op)];
}

std::string_view name(PerfMemory memory) {
  constexpr std::string_view kNames[] = {"malloc", "cuda", "nccl"};
  return kNames[static_cast<int>(memory)];
}

std::vector<PerfCase> casesOf(const PerfOptions& options) {
  const std::vector<PerfOperator> ops =
      reduces(options.collective) ? options.ops : std::vector<PerfOperator>{PerfOperator::kNone};
  std::vector<PerfCase> cases;
  for (const DataType type : options.types)
    for (const PerfOperator op : ops)
      for (const int root : rootsOf(options))
        for (const std::size_t bytes : sizesOf(options))
          cases.push_back({type, op, root, layoutOf(options.collective, bytes, type, options.ranks())});
  return cases;
}

}  // namespace xylem::cli
