// libFuzzer's entry: bytes as a topology file. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/topology_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedTopology({reinterpret_cast<const char*>(data), size});
  return 0;
}
