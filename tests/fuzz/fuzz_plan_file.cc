// libFuzzer's entry: bytes as a plan in JSON. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/plan_file_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedPlanFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
