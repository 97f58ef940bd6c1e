#pragma once
// The name of this machine, from gethostname(2).

#include <unistd.h>

#include <array>
#include <string>

namespace xylem {

// Returns an empty name if gethostname fails.
inline std::string hostName() {
  std::array<char, 256> name{};  // longer than HOST_NAME_MAX, so the last byte stays 0
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace xylem
