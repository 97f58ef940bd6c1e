// libFuzzer's entry: reads the bytes as a fabric's text. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/fabric_file_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedFabricFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
