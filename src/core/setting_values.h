#pragma once
// Finds values that NCCL does not understand or that do not fit. NCCL replaces or ignores most of them without a warning.
//
//   oddityOf("NCCL_DEBUG", "infoo")      ->  "is none of VERSION, WARN, INFO, ABORT, TRACE, NONE: NCCL logs nothing"
//   oddityOf("NCCL_IB_TIMEOUT", "abc")   ->  "is no whole number: NCCL reads 0 of it"
//   oddityOf("NCCL_DEBUG", "INFO")       ->  ""

#include <cstddef>
#include <string>
#include <string_view>

namespace xylem {

// Entries that count of NCCL_SOCKET_IFNAME, and of NCCL_IB_HCA.
constexpr std::size_t kMaxListedInterfaces = 16;
constexpr std::size_t kMaxListedPorts = 32;

// A sentence to put behind NAME=VALUE; empty if nothing is odd, or nothing is known of the variable.
std::string oddityOf(std::string_view name, const std::string& value);

}  // namespace xylem
