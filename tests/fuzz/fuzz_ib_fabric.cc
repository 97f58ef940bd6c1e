// libFuzzer's entry: reads the bytes as output of ibnetdiscover. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/fabric_file_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedIbFabric({reinterpret_cast<const char*>(data), size});
  return 0;
}
