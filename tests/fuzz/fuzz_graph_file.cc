// libFuzzer's entry: bytes as a graph file. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/graph_file_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedGraphFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
