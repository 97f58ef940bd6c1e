#pragma once
// What NCCL makes of values that it does not understand or that do not fit: most of them it replaces or ignores without a word.
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
