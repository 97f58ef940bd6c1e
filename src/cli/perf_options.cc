#include "cli/perf_options.h"

#include <charconv>
#include <cmath>

#include "core/error.h"

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

std::size_t parseBytes(const std::string& text, const std::string& option) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string unit(end, text.data() + text.size());
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "K" || unit == "k") scale = 1024;
  if (unit == "M" || unit == "m") scale = 1024.0 * 1024;
  if (unit == "G" || unit == "g") scale = 1024.0 * 1024 * 1024;
  const double bytes = number * scale;
  if (error != std::errc() || scale == 0 || !(bytes >= 0) || bytes > 0x1p40)
    throw InputError({option, 0}, "`" + text + "`",
                     "a number of bytes such as 8, 64K, 1.5M or 2G, at most 1024G");
  return static_cast<std::size_t>(bytes);
}

}  // namespace xylem::cli
