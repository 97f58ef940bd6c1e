#pragma once
// The name of this machine, as gethostname(2) has it.

#include <unistd.h>

#include <array>
#include <string>

namespace xylem {

// Empty if the system does not tell.
inline std::string hostName() {
  std::array<char, 256> name{};  // longer than HOST_NAME_MAX, so the last byte stays 0
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace xylem
