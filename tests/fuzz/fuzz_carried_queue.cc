// libFuzzer's entry for fuzz/carried_queue_input.h. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/carried_queue_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedCarriedQueue({reinterpret_cast<const char*>(data), size});
  return 0;
}
