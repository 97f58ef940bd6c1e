// libFuzzer's entry: bytes as lines NAME=VALUE of settings. CONTRIBUTING.md says how to run it.

#include <cstddef>
#include <cstdint>

#include "fuzz/settings_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xylem::feedSettings({reinterpret_cast<const char*>(data), size});
  return 0;
}
