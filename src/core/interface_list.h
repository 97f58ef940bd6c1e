#pragma once
// NCCL_SOCKET_IFNAME's language: which network interfaces a list selects.
//
//   interfaceMatches("eth,ib", "ib0")       true: prefixes
//   interfaceMatches("=eth0", "eth01")      false: whole names
//   interfaceMatches("^docker,lo", "eth0")  true: all but these
//   interfaceMatches("eth0:9999", "eth0")   true: a port is allowed and ignored
//
// As in NCCL, entries after the 16th do not count (core/setting_values.h).

#include <string>

namespace xylem {

// An empty list selects every name.
bool interfaceMatches(const std::string& list, const std::string& name);

}  // namespace xylem
