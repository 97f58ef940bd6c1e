// libFuzzer's entry for fuzz/session_input.h. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/session_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedSession({reinterpret_cast<const char*>(data), size});
  return 0;
}
