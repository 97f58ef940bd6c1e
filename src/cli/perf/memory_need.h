#pragma once
// Whether this machine has the memory for a run of `xylem perf` that starts all ranks here.
//
//   requireMemory(options, availableMemory());     // throws before the first process is started

#include <cstdint>
#include <optional>

#include "cli/perf/cases.h"

namespace xylem::cli {

// Bytes that new processes can have, in this container; none if the system does not say.
std::optional<std::uint64_t> availableMemory();
// Throws InputError, with the number of ranks that do fit, if the run needs more.
void requireMemory(const PerfOptions& options, std::optional<std::uint64_t> available);

}  // namespace xylem::cli
