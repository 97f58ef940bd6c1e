// libFuzzer's entry: bytes as a map of a virtual machine's devices. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/vm_map_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedVmMap({reinterpret_cast<const char*>(data), size});
  return 0;
}
