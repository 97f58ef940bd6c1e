#pragma once
// Finds values that NCCL does not understand or that do not fit. NCCL replaces or ignores most of them without a warning.
//
//   oddityOf("NCCL_DEBUG", "infoo")      ->  "is none of VERSION, WARN, INFO, ABORT, TRACE, NONE: NCCL logs nothing"
//   oddityOf("NCCL_IB_TIMEOUT", "abc")   ->  "is no whole number: NCCL reads 0 of it"
//   oddityOf("NCCL_DEBUG", "INFO")       ->  ""

#include <string>
#include <string_view>

namespace xylem {

// A sentence to put behind NAME=VALUE; empty if nothing is odd, or nothing is known of the variable.
std::string oddityOf(std::string_view name, const std::string& value);

}  // namespace xylem
