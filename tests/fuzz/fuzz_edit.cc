// libFuzzer's entry: bytes as edits, one per line. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/edit_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedEdits({reinterpret_cast<const char*>(data), size});
  return 0;
}
