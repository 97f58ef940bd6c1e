#include "cli/perf/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "cli/number_text.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

// Measured: what a rank has of its own, and what it keeps per pair of ranks of its host, which is the path between them.
constexpr double kRankBytes = 1.5e6;
constexpr double kPairBytes = 30;

double planBytes(double ranks) { return kRankBytes + kPairBytes * ranks * ranks; }
double bytesOf(double ranks, const PerfOptions& options) {
  return ranks * (planBytes(ranks) + 2 * static_cast<double>(options.maxBytes));
}

std::optional<std::uint64_t> numberIn(const char* file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> availableMemory() {
  std::optional<std::uint64_t> available;
  std::ifstream lines("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t value = 0; !available && lines >> name >> value;) {
    if (name == "MemAvailable:") available = value * 1024;
    std::getline(lines, unit);
  }
  // The limit of a container; "max", which is no number, if there is none.
  const auto most = numberIn("/sys/fs/cgroup/memory.max"), used = numberIn("/sys/fs/cgroup/memory.current");
  if (most && used) available = std::min(available.value_or(*most), *most > *used ? *most - *used : 0);
  return available;
}

void requireMemory(const PerfOptions& options, std::optional<std::uint64_t> available) {
  const double need = bytesOf(options.ranks(), options);
  if (!available || need <= static_cast<double>(*available)) return;
  int fitting = options.ranks();
  while (fitting > 1 && bytesOf(fitting, options) > static_cast<double>(*available)) --fitting;
  // Fewer ranks help only if one of them fits.
  const bool oneFits = bytesOf(fitting, options) <= static_cast<double>(*available);
  throw InputError(
      {"command line"},
      fmt::format("{}, needing about {:.1f} GB of memory on this machine: each {:.1f} MB for the "
                  "plan of a host of so many ranks, and two buffers of {}; {:.1f} GB are available",
                  counted(options.ranks(), "rank"), need * 1e-9, planBytes(options.ranks()) * 1e-6,
                  sizeText(options.maxBytes), static_cast<double>(*available) * 1e-9),
      oneFits
          ? fmt::format("at most {} (-p, -t, -g), smaller sizes (-e), or several hosts (xylem run --hosts)",
                        counted(fitting, "rank"))
          : "smaller sizes (-e)");
}

}  // namespace xylem::cli
